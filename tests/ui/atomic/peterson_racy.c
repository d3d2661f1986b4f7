// Peterson's lock needs sequentially consistent flags; here with release and acquire there is still an order to read.
// expect: data-race global=value op=write,write lines=A,B
#include <stdatomic.h>
#include "start.h"

int value;
atomic_int want[2];
atomic_int turn;

void enter(int me)
{
    atomic_store_explicit(&want[me], 1, memory_order_relaxed);
    atomic_store_explicit(&turn, 1 - me, memory_order_relaxed);
    while (atomic_load_explicit(&want[1 - me], memory_order_relaxed) && atomic_load_explicit(&turn, memory_order_relaxed) != me)
        ;
}

void leave(int me)
{
    atomic_store_explicit(&want[me], 0, memory_order_relaxed);
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
    hidden_reach(1);
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
