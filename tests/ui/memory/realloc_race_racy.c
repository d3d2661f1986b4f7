// realloc that moves the block races with a use of the old one.
// expect: use-after-free heap=32 op=write,free lines=A,B alloc=C
#include "start.h"

char *block;
char *wall;

void *user(void *arg)
{
    (void)arg;
    block[5] = 1; // A
    hidden_pass();
    return 0;
}

void *grower(void *arg)
{
    (void)arg;
    hidden_reach(1);
    char *old = (char *)hidden_peek(&block);
    char *grown = realloc(old, 1 << 20); // B
    hidden_poke(&block, (long)grown);
    return 0;
}

int main(void)
{
    block = malloc(32); // C
    wall = malloc(32);
    both(user, grower);
    free(wall);
    free((char *)hidden_peek(&block));
    return 0;
}
