// A heap block is named with its size and where it was allocated.
// expect: data-race heap=64 op=write,write size=4,4 lines=A,B alloc=C
// golden: clang
#include "start.h"

int *block;

void *first(void *arg)
{
    (void)arg;
    block[3] = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    block[3] = 2; // B
    return 0;
}

int main(void)
{
    block = malloc(64); // C
    both(first, second);
    free(block);
    return 0;
}
