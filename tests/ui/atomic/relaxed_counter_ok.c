// Relaxed increments never race with each other; a plain one among them does.
// expect: clean
#include <stdatomic.h>
#include "start.h"

atomic_int counter;
int seen;

void *first(void *arg)
{
    (void)arg;
    atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = atomic_load_explicit(&counter, memory_order_relaxed);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
