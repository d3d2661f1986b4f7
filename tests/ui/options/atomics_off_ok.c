// Races between an atomic and a plain access can be switched off.
// expect: clean
// options: atomics=off
// tsan: skip its option has another name
#include "start.h"

long word;

void *first(void *arg)
{
    (void)arg;
    word = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    __atomic_store_n(&word, 2, __ATOMIC_SEQ_CST);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
