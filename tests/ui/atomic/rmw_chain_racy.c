// A chain of relaxed read-modify-writes by other threads hands a release on; a relaxed head gives nothing to hand on.
// expect: data-race global=data op=write,read lines=A,B
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_uint word;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    atomic_fetch_or_explicit(&word, 1, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *middle(void *arg)
{
    (void)arg;
    hidden_reach(1);
    atomic_fetch_add_explicit(&word, 2, memory_order_relaxed);
    atomic_fetch_sub_explicit(&word, 2, memory_order_relaxed);
    atomic_fetch_xor_explicit(&word, 4, memory_order_relaxed);
    atomic_fetch_and_explicit(&word, ~4u, memory_order_relaxed);
    atomic_exchange_explicit(&word, 1, memory_order_relaxed);
    __atomic_fetch_nand((unsigned *)&word, 0u, __ATOMIC_RELAXED);
    unsigned expected = ~0u;
    must(atomic_compare_exchange_strong_explicit(&word, &expected, 8, memory_order_relaxed, memory_order_relaxed));
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(2);
    must(atomic_fetch_add_explicit(&word, 0, memory_order_acquire) == 8);
    seen = data; // B
    return 0;
}

int main(void)
{
    three(writer, middle, reader);
    return 0;
}
