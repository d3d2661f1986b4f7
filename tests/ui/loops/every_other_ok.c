// One loop changes the even elements, another one the odd ones.
// flags: -O2
// expect: clean
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
    every_other(data, 1, many);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
