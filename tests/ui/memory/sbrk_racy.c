// Memory from sbrk.
// expect: data-race op=write,write lines=A,B
#define _DEFAULT_SOURCE
#include <unistd.h>
#include "start.h"

int *block;

void *first(void *arg)
{
    (void)arg;
    block[7] = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    block[7] = 2; // B
    return 0;
}

int main(void)
{
    block = sbrk(4096);
    must(block != (void *)-1);
    both(first, second);
    return 0;
}
