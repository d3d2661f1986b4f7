// A loop fills an array from its end, and its first element is read meanwhile.
// flags: -O2
// expect: data-race global=data op=write,read lines=A,B
#include "start.h"

#define N 1000
// Nothing that the compiler knows.
volatile long many = N;
_Alignas(16) int data[N + 2];

__attribute__((noinline)) static void fill(int *to, long count)
{
    for (long i = count - 1; i >= 0; i--)
        to[i] = (int)i; // A
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
    must(data[1] != -1); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
