// Loops that go round once or not at all.
// flags: -O2
// expect: clean
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
    fill(data + 1, many - N);
    fill(data + 3, many - N + 1);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    data[1] = 1;
    data[2] = 1;
    data[4] = 1;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
