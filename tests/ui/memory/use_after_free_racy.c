// The free comes first, then the use.
// expect: use-after-free heap=48 op=free,read lines=A,B alloc=C
#include "start.h"

int *block;
int seen;

void *freer(void *arg)
{
    (void)arg;
    free(block); // A
    hidden_pass();
    return 0;
}

void *user(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = *block; // B
    return 0;
}

int main(void)
{
    block = malloc(48); // C
    *block = 1;
    both(freer, user);
    return 0;
}
