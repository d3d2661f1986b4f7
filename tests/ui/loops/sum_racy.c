// A loop adds up bytes, one of which is written meanwhile.
// flags: -O2
// expect: data-race global=data op=read,write lines=A,B
#include "start.h"

#define N 1000
// Nothing that the compiler knows.
volatile long many = N;
unsigned char data[N];
int sums[2];

__attribute__((noinline)) static int sum(const unsigned char *of, long count)
{
    int all = 0;
    for (long i = 0; i < count; i++)
        all += of[i]; // A
    return all;
}

void *first(void *arg)
{
    (void)arg;
    sums[0] = sum(data, many);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    data[N / 2 + 1] = 1; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
