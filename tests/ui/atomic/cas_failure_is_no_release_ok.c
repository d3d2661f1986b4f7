// A failed compare-exchange writes nothing, so it releases nothing.
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
    int expected = 0;
    int done = atomic_compare_exchange_strong_explicit(&word, &expected, 1, memory_order_release, memory_order_relaxed);
    must(done);
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
