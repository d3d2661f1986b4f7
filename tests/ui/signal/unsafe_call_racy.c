// malloc in a handler is not async-signal-safe.
// expect: signal-unsafe lines=A
// golden: clang
#include <signal.h>
#include <unistd.h>
#include "start.h"

void *volatile kept;

void handler(int number)
{
    (void)number;
    kept = malloc(10); // A
}

int main(void)
{
    signal(SIGUSR1, handler);
    kill(getpid(), SIGUSR1);
    return 0;
}
