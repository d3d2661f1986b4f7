// A loop whose loads the compiler joins to vectors of 32 bytes, which its own instrumentation leaves out.
// flags: -O2
// tsan: skip it does not see them
// expect: data-race global=data op=read,write lines=A,B
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
    data[N / 2] = 1; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
