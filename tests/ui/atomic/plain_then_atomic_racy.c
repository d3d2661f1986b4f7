// A plain write, then an atomic store by another thread.
// expect: data-race global=word op=write,atomic-write size=8,8 lines=A,B
// golden: clang
#include "start.h"

long word;

void *first(void *arg)
{
    (void)arg;
    word = 1; // A
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
