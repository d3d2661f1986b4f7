// A loop that ends when it has found something has not touched what lies behind it.
// flags: -O2
// expect: clean
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
    must(search(data, 0) == 0);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    data[1] = 1;
    data[N - 1] = 1;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
