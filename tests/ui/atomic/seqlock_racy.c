// A sequence lock whose data are plain is a race, even if the reader would try again.
// expect: data-race global=data op=write,read lines=A,B
#include <stdatomic.h>
#include "start.h"

atomic_uint sequence;
int data;
int seen;

void *writer(void *arg)
{
    (void)arg;
    atomic_store_explicit(&sequence, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    data = 1; // A
    hidden_pass();
    hidden_reach(2);
    atomic_store_explicit(&sequence, 2, memory_order_release);
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
    int value = data; // B
    atomic_thread_fence(memory_order_acquire);
    unsigned after = atomic_load_explicit(&sequence, memory_order_relaxed);
    if (before == after && !(before & 1))
        seen = value;
    hidden_pass();
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
