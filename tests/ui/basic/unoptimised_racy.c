// Built with -O0, where every local goes through memory.
// flags: -O0
// expect: data-race global=shared op=write,read lines=A,B
#include "start.h"

int shared;
int seen;

void *first(void *arg)
{
    (void)arg;
    int local = 4;
    shared = local; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = shared; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
