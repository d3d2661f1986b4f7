// An atomic maximum releases like any other read-modify-write; clang has one, and so has its minimum.
// expect: clean
// compilers: clang
#include "start.h"

int data;
int seen;
_Atomic int most;
int least = 9;

void *first(void *arg)
{
    (void)arg;
    data = 1; // A
    must(__c11_atomic_fetch_max(&most, 5, __ATOMIC_RELEASE) == 0);
    must(__atomic_fetch_min(&least, 3, __ATOMIC_RELEASE) == 9);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(__c11_atomic_load(&most, __ATOMIC_ACQUIRE) == 5);
    must(__atomic_max_fetch(&least, 1, __ATOMIC_ACQUIRE) == 3);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
