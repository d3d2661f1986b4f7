// A loop that its author has unrolled, a line for each element: each race names the line of its own element.
// flags: -O2
// expect: data-race global=data op=read,write size=4,4 lines=A,K
// expect: data-race global=data op=read,write size=4,4 lines=B,L
// expect: data-race global=data op=read,write size=4,4 lines=C,M
#include "start.h"

#define N 800
volatile long many = N;
_Alignas(16) unsigned data[N + 8];
volatile unsigned sum;

__attribute__((noinline)) static void check(const unsigned *of, long count)
{
    unsigned a = 0, b = 0;
    for (const unsigned *end = of + count; of < end; of += 8) {
        a += of[0] + b; // A
        b += of[1] + a; // B
        a += of[2] + b;
        b += of[3] + a;
        a += of[4] + b;
        b += of[5] + a;
        a += of[6] + b;
        b += of[7] + a; // C
    }
    sum = a ^ b;
}

void *first(void *arg)
{
    (void)arg;
    check(data, many);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    data[0] = 1;     // K
    data[401] = 1;   // L
    data[N - 1] = 1; // M
    data[N] = 1;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
