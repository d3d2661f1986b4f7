// Two loops whose loads the compiler joins to vectors of 32 bytes read the same array.
// flags: -O2
// expect: clean
#include "start.h"

#define N 1000
// Nothing that the compiler knows.
volatile long many = N;
long data[N + 1];
long sum;

__attribute__((noinline)) static long pairs(const long *of, long count)
{
    long all = 0;
    for (long i = 1; i < count; i += 2)
        all += of[i] + of[i - 1]; // A
    return all;
}

void *first(void *arg)
{
    (void)arg;
    sum = pairs(data, many);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(pairs(data, many) == 0);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
