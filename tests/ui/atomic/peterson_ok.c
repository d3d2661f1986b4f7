// Peterson's lock needs sequentially consistent flags; here with release and acquire there is still an order to read.
// expect: clean
#include <stdatomic.h>
#include "start.h"

int value;
atomic_int want[2];
atomic_int turn;

void enter(int me)
{
    atomic_store(&want[me], 1);
    atomic_store(&turn, 1 - me);
    while (atomic_load(&want[1 - me]) && atomic_load(&turn) != me)
        ;
}

void leave(int me)
{
    atomic_store(&want[me], 0);
}

void *first(void *arg)
{
    (void)arg;
    enter(0);
    value = 1; // A
    leave(0);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    enter(1);
    value = 2; // B
    leave(1);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
