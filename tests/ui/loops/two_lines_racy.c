// A loop touches neighbours on two lines: the race is with the second one.
// flags: -O2
// expect: data-race global=data op=write,read lines=A,B
#include "start.h"

#define N 1000
// Nothing that the compiler knows.
volatile long many = N;
long data[N];

__attribute__((noinline)) static void fill(volatile long *to, long count)
{
    for (long i = 0; i != count; i += 2) {
        to[i] = i;
        to[i + 1] = -i; // A
    }
}

void *first(void *arg)
{
    (void)arg;
    fill(data, many);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(data[N / 2 + 1] != 1); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
