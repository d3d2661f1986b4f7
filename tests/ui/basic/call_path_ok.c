// Both stacks are whole, from the access out to the thread's first function.
// expect: clean
#include "start.h"

int shared;
int result;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void store_it(int value)
{
    pthread_mutex_lock(&lock);
    shared = value; // A
    pthread_mutex_unlock(&lock);
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
    pthread_mutex_lock(&lock);
    int value = shared; // B
    pthread_mutex_unlock(&lock);
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
