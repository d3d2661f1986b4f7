// What is written between the release fence and the store is not covered.
// expect: data-race global=data op=write,read lines=A,B
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_int flag;

void *writer(void *arg)
{
    (void)arg;
    atomic_thread_fence(memory_order_release);
    data = 1; // A
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(atomic_load_explicit(&flag, memory_order_acquire) == 1);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
