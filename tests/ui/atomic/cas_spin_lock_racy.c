// A spin lock of compare-exchange and store; the racy one unlocks relaxed.
// expect: data-race global=value op=write,write lines=A,A
#include <stdatomic.h>
#include "start.h"

int value;
atomic_int word;

void *worker(void *arg)
{
    (void)arg;
    int expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&word, &expected, 1, memory_order_acquire, memory_order_relaxed))
        expected = 0;
    value = 1; // A
    atomic_store_explicit(&word, 0, memory_order_relaxed);
    return 0;
}

int main(void)
{
    both(worker, worker);
    return 0;
}
