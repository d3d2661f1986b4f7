// The thread in the middle of a relaxed chain has itself acquired nothing.
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
    atomic_store_explicit(&word, 1, memory_order_release);
    hidden_pass();
    return 0;
}

void *middle(void *arg)
{
    (void)arg;
    hidden_reach(1);
    atomic_fetch_add_explicit(&word, 1, memory_order_release);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, middle);
    return 0;
}
