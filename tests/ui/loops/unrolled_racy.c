// A loop that the compiler unrolls: its last turn races.
// flags: -O2
// expect: data-race global=data op=read,write lines=A,B size=8,8
#include "start.h"

#define N 24
unsigned long data[N + 1];

__attribute__((noinline)) static unsigned long mix(const unsigned long *from)
{
    unsigned long all = 1;
    for (int i = 0; i < N; i++)
        all = (all ^ from[i]) * 0x100000001b3; // A
    return all;
}

void *first(void *arg)
{
    (void)arg;
    must(mix(data) != 2);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    data[N - 1] = 3; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
