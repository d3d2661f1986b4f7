// A statically linked program is watched as well.
// flags: -static
// tsan: skip its runtime does not link statically
// expect: data-race global=shared op=write,write lines=A,B
#include "start.h"

int shared;

void *first(void *arg)
{
    (void)arg;
    shared = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    shared = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
