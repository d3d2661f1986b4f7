// A block of which only the beginning was ever touched is freed: a use anywhere in it that nothing orders is seen.
// expect: use-after-free heap=60000 op=free,read lines=A,B alloc=C
// expect: use-after-free heap=60000 op=free,write lines=A,D alloc=C
#include "start.h"

char *block;
char *next;
int seen;

void *freer(void *arg)
{
    (void)arg;
    hidden_reach(1); // making the other thread takes memory, too
    free(block); // A
    hidden_pass();
    return 0;
}

void *user(void *arg)
{
    (void)arg;
    hidden_pass();
    hidden_reach(2);
    seen = block[50001]; // B
    block[20000] = 1; // D
    return 0;
}

int main(void)
{
    block = malloc(60000); // C
    next = malloc(64); // so that the freed block stays where it is
    *block = 1;
    both(freer, user);
    free(next);
    return 0;
}
