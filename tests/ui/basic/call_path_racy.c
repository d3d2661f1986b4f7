// Both stacks are whole, from the access out to the thread's first function.
// expect: data-race global=shared op=write,read lines=A,B path=store_it>deeper>outer>writer,load_it>reader
// golden: clang
#include "start.h"

int shared;
int result;

__attribute__((noinline)) void store_it(int value)
{
    shared = value; // A
}

__attribute__((noinline)) void deeper(int value)
{
    store_it(value + 1);
    hidden_pass();
}

__attribute__((noinline)) void outer(int value)
{
    deeper(value * 2);
    __asm__ volatile("");
}

void *writer(void *arg)
{
    (void)arg;
    outer(20);
    return 0;
}

__attribute__((noinline)) int load_it(void)
{
    int value = shared; // B
    __asm__ volatile("");
    return value;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    result = load_it();
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
