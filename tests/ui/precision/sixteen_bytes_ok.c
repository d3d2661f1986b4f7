// A sixteen-byte copy covers two cells.
// expect: clean
// flags: -msse2
#include "start.h"

typedef long pair __attribute__((vector_size(16)));
pair wide[4] __attribute__((aligned(16)));
long seen;

void *first(void *arg)
{
    (void)arg;
    wide[1] = (pair){1, 2}; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = ((long *)wide)[4] + ((long *)wide)[1];
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
