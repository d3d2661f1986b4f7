// One thread uses a block, another frees it, and nothing orders the two.
// expect: use-after-free heap=16 op=write,free lines=A,B alloc=C
// golden: clang
#include "start.h"

int *block;

void *user(void *arg)
{
    (void)arg;
    block[1] = 1; // A
    hidden_pass();
    return 0;
}

void *freer(void *arg)
{
    (void)arg;
    hidden_reach(1);
    free(block); // B
    return 0;
}

int main(void)
{
    block = malloc(16); // C
    both(user, freer);
    return 0;
}
