// A loop changes every other element, and one of them is read meanwhile.
// flags: -O2
// expect: data-race global=data op=write,read lines=A,B
#include "start.h"

#define N 1000
// Nothing that the compiler knows.
volatile long many = N;
double data[N];

__attribute__((noinline)) static void every_other(double *to, long from, long count)
{
    for (long i = from; i < count; i += 2)
        to[i] = to[i] * 0.5 + 1; // A
}

void *first(void *arg)
{
    (void)arg;
    every_other(data, 0, many);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(data[N - 2] != -1); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
