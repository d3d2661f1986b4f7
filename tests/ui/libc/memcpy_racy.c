// memcpy reads its source and writes its target, to the byte.
// flags: -fno-builtin
// expect: data-race global=source op=write,read lines=A,C
// expect: data-race global=target op=write,write lines=B,C
#include <string.h>
#include "start.h"

char source[64], target[64];

void *first(void *arg)
{
    (void)arg;
    source[40] = 1; // A
    target[40] = 1; // B
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
