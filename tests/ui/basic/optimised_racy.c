// Built with -O2 the report still names both lines.
// flags: -O2
// expect: data-race global=shared op=write,read lines=A,B
#include "start.h"

int shared;
int seen;

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
    seen = shared; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
