// Two loops smooth the halves of an array into another one.
// flags: -O2
// expect: clean
#include "start.h"

#define N 1000
// Nothing that the compiler knows.
volatile long many = N;
double from[N + 2], to[N + 2];

__attribute__((noinline)) static void smooth(double *restrict out, const double *restrict in, long begin, long end)
{
    for (long i = begin; i < end; i++)
        out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3; // A
}

void *first(void *arg)
{
    (void)arg;
    smooth(to, from, 1, many / 2);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    smooth(to, from, many / 2, many);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
