// Fences in both threads and no atomic at all: nothing is ordered.
// expect: data-race global=data op=write,write lines=A,B
#include <stdatomic.h>
#include "start.h"

int data;

void *first(void *arg)
{
    (void)arg;
    atomic_thread_fence(memory_order_seq_cst);
    data = 1; // A
    atomic_thread_fence(memory_order_seq_cst);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    atomic_thread_fence(memory_order_seq_cst);
    data = 2; // B
    atomic_thread_fence(memory_order_seq_cst);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
