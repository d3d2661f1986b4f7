// A loop touches the same place in some of its turns: told once, and told.
// flags: -O2
// expect: data-race global=box op=write,read lines=A,B
#include "start.h"

#define N 1000
struct { long sum, other; } box;
volatile long many = N;

__attribute__((noinline)) static void add(long count)
{
    long i = 0;
    while (i < count) {
        if (i % 3 == 1)
            *(volatile long *)&box.sum += i; // A
        i += many > 1 ? 1 : 2;
    }
}

void *first(void *arg)
{
    (void)arg;
    add(many);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(box.sum != 1); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
