// Compilers treat consume as acquire, and so do we.
// expect: clean
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
_Atomic(int *) pointer;

void *writer(void *arg)
{
    (void)arg;
    data = 1;
    atomic_store_explicit(&pointer, &data, memory_order_release);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = *atomic_load_explicit(&pointer, memory_order_consume);
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
