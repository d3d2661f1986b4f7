// An acquire fence before the load covers only earlier loads.
// expect: clean
// tsan: skip it does not model fences
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_int flag;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    atomic_store_explicit(&flag, 1, memory_order_release);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(atomic_load_explicit(&flag, memory_order_relaxed) == 1);
    atomic_thread_fence(memory_order_acquire);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
