// A failed compare-exchange is a load with its failure order.
// expect: clean
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_int word;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    atomic_store_explicit(&word, 1, memory_order_release);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    int expected = 0;
    must(!atomic_compare_exchange_strong_explicit(&word, &expected, 5, memory_order_acq_rel, memory_order_acquire));
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
