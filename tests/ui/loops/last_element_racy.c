// A loop fills an array, and its last element is read meanwhile.
// flags: -O2
// expect: data-race global=data op=write,read lines=A,B
#include "start.h"

#define N 1000
// Nothing that the compiler knows.
volatile long many = N;
_Alignas(16) long data[N + 2];

__attribute__((noinline)) static void fill(long *to, long count)
{
    for (long i = 0; i < count; i++)
        to[i] = i; // A
}

void *first(void *arg)
{
    (void)arg;
    fill(data + 1, many);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(data[N] != -1); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
