// memcpy reads its source and writes its target, to the byte.
// expect: clean
// flags: -fno-builtin
#include <string.h>
#include "start.h"

char source[64], target[64];

void *first(void *arg)
{
    (void)arg;
    source[41] = 1;
    target[41] = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    memcpy(target, source, 41); // C
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
