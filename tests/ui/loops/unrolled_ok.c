// A loop that the compiler unrolls, and its neighbours on both sides: nothing races.
// flags: -O2
// expect: clean
#include "start.h"

#define N 24
unsigned long data[N + 2];

__attribute__((noinline)) static unsigned long mix(const unsigned long *from)
{
    unsigned long all = 1;
    for (int i = 0; i < N; i++)
        all = (all ^ from[i]) * 0x100000001b3;
    return all;
}

void *first(void *arg)
{
    (void)arg;
    must(mix(data + 1) != 2);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    data[0] = 3;
    data[N + 1] = 3;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
