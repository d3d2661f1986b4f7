// A block handed over by atomic exchange.
// expect: clean
#include <stdatomic.h>
#include "start.h"

_Atomic(long *) slot;
long seen;

void *giver(void *arg)
{
    (void)arg;
    long *block = malloc(8); // C
    *block = 5; // A
    atomic_exchange_explicit(&slot, block, memory_order_release);
    hidden_pass();
    return 0;
}

void *taker(void *arg)
{
    (void)arg;
    hidden_reach(1);
    long *block = atomic_exchange_explicit(&slot, 0, memory_order_acquire);
    seen = *block; // B
    hidden_poke(&slot, (long)block);
    return 0;
}

int main(void)
{
    both(giver, taker);
    free(atomic_load(&slot));
    return 0;
}
