// printf in a handler, called through a helper.
// stdout: in the handler
// expect: signal-unsafe lines=A
// tsan: skip it knows only the allocator
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "start.h"

__attribute__((noinline)) void say(void)
{
    printf("in the handler\n"); // A
}

void handler(int number)
{
    (void)number;
    say();
}

int main(void)
{
    signal(SIGUSR1, handler);
    kill(getpid(), SIGUSR1);
    return 0;
}
