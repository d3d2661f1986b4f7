// An eight-byte atomic store overlaps a byte read inside it, not the byte behind it.
// expect: data-race global=bytes op=atomic-write,read size=8,1 lines=A,B
#include "start.h"

_Alignas(8) char bytes[16];
char seen;

void *first(void *arg)
{
    (void)arg;
    __atomic_store_n((long *)bytes, 1, __ATOMIC_SEQ_CST); // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = bytes[7]; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
