// A failed compare-exchange writes nothing, so it releases nothing.
// tsan: skip it releases on a failed exchange with a release order
// expect: data-race global=data op=write,read lines=A,B
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_int word;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    int expected = 7;
    int done = atomic_compare_exchange_strong_explicit(&word, &expected, 1, memory_order_release, memory_order_relaxed);
    must(!done);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = atomic_load_explicit(&word, memory_order_acquire);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
