// A jump out of a signal handler ends the handler: later calls are not in it.
// expect: clean
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include "start.h"

sigjmp_buf target;

void handler(int number)
{
    (void)number;
    siglongjmp(target, 1);
}

int main(void)
{
    signal(SIGUSR1, handler);
    for (volatile int i = 0; i < 50; i++)
        if (sigsetjmp(target, 1) == 0)
            kill(getpid(), SIGUSR1);
    free(malloc(10));
    return 0;
}
