// What was done before the handler was installed is known to the handler in any thread.
// expect: clean
// tsan: skip a signal that a thread raises itself has no edge there
#include <signal.h>
#include <string.h>
#include "start.h"

int table;
int seen;

void handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    seen = table;
}

void *installer(void *arg)
{
    (void)arg;
    table = 5;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    must(sigaction(SIGUSR2, &action, 0) == 0);
    hidden_pass();
    return 0;
}

void *raiser(void *arg)
{
    (void)arg;
    hidden_reach(1);
    raise(SIGUSR2);
    return 0;
}

int main(void)
{
    both(installer, raiser);
    return 0;
}
