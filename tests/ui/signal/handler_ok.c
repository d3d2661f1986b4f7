// A handler that touches what another thread writes.
// expect: clean
#include <signal.h>
#include "start.h"

_Atomic int flag;
int seen;

void handler(int number)
{
    (void)number;
    seen = flag; // B
}

void *writer(void *arg)
{
    (void)arg;
    flag = 1; // A
    hidden_pass();
    return 0;
}

int main(void)
{
    signal(SIGUSR1, handler);
    pthread_t thread = start(writer);
    hidden_reach(1);
    raise(SIGUSR1);
    join(thread);
    return 0;
}
