// Five million releases later nothing is forgotten.
// expect: clean
// tsan: skip its clock is reset after some millions of releases
#include <stdatomic.h>
#include "start.h"

int value;
atomic_int flag;

void *first(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    for (int i = 0; i < 5000000; i++)
        atomic_store_explicit(&flag, i, memory_order_release);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(2);
    atomic_load_explicit(&flag, memory_order_acquire);
    value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
