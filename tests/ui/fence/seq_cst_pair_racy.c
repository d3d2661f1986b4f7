// Sequentially consistent fences order through the atomic between them, not by themselves.
// expect: data-race global=data op=write,read lines=A,B
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_int flag, unrelated;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    atomic_load_explicit(&unrelated, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
