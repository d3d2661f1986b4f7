// A loop that finds nothing has touched all.
// flags: -O2
// expect: data-race global=data op=read,write lines=A,B
#include "start.h"

#define N 1000
int data[N];

__attribute__((noinline)) static int search(const int *in, int wanted)
{
    int i = 0;
    while (i < N && in[i] != wanted) // A
        i++;
    return i;
}

void *first(void *arg)
{
    (void)arg;
    must(search(data, 7) == N);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    data[N - 1] = 1; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
