// malloc in a handler is not async-signal-safe.
// expect: clean
#include <signal.h>
#include <unistd.h>
#include "start.h"

void *volatile kept;

void handler(int number)
{
    (void)number;
    must(write(1, "", 0) == 0);
}

int main(void)
{
    signal(SIGUSR1, handler);
    kill(getpid(), SIGUSR1);
    return 0;
}
