// A plain write, then an atomic store by another thread.
// expect: clean
#include "start.h"

long word;

void *first(void *arg)
{
    (void)arg;
    __atomic_store_n(&word, 1, __ATOMIC_RELAXED);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    __atomic_store_n(&word, 2, __ATOMIC_SEQ_CST); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
