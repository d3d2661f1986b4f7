// strdup reads its argument, and its block counts as allocated there.
// expect: clean
// flags: -fno-builtin
#include <string.h>
#include "start.h"

char *copy;

void *first(void *arg)
{
    (void)arg;
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
