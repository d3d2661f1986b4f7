// A race twenty thousand calls deep.
// expect: data-race global=value op=write,write lines=A,B depth=20001,1
#include "start.h"

#define DEPTH 20000
int value;

__attribute__((noinline)) void descend(int depth)
{
    if (depth > 1)
        descend(depth - 1);
    else {
        value = 1; // A
    }
    __asm__ volatile("");
}

void *first(void *arg)
{
    (void)arg;
    descend(DEPTH);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
