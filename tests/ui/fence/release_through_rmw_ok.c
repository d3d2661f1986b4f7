// A release fence, a relaxed store, a relaxed increment by a third thread, an acquire fence.
// expect: clean
// tsan: skip it does not model fences
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_int word;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&word, 1, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *middle(void *arg)
{
    (void)arg;
    hidden_reach(1);
    atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(2);
    must(atomic_load_explicit(&word, memory_order_relaxed) == 2);
    atomic_thread_fence(memory_order_acquire);
    seen = data; // B
    return 0;
}

int main(void)
{
    three(writer, middle, reader);
    return 0;
}
