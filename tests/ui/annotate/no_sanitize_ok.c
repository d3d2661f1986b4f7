// A function that asks not to be instrumented is not looked at.
// expect: clean
#include "start.h"

int value;

__attribute__((no_sanitize("thread"), noinline)) void store(int number)
{
    value = number;
    __asm__ volatile("");
}

void *first(void *arg)
{
    (void)arg;
    store(1);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    store(2);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
