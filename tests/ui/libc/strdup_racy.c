// strdup reads its argument, and its block counts as allocated there.
// flags: -fno-builtin
// expect: data-race heap=6 op=write,write lines=A,B alloc=C
#include <string.h>
#include "start.h"

char *copy;

void *first(void *arg)
{
    (void)arg;
    copy[2] = 'x'; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    copy[2] = 'y'; // B
    return 0;
}

int main(void)
{
    copy = strdup("hello"); // C
    both(first, second);
    free(copy);
    return 0;
}
