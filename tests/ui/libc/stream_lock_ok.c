// Who holds a stream by flockfile may use the unlocked functions, which work on the stream's inside.
// expect: clean
// stdout: abab
#define _GNU_SOURCE
#include <stdio.h>
#include "start.h"

void *writes(void *arg)
{
    (void)arg;
    flockfile(stdout);
    putc_unlocked('a', stdout);
    putc_unlocked('b', stdout);
    funlockfile(stdout);
    hidden_pass();
    return 0;
}

void *writes_later(void *arg)
{
    hidden_reach(1);
    return writes(arg);
}

int main(void)
{
    both(writes, writes_later);
    putchar('\n');
    return 0;
}
