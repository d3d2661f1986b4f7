// sigwait gets what the sender did before.
// expect: data-race global=data op=write,read lines=A,B
#include <signal.h>
#include "start.h"

int data;
int seen;
pthread_t target;

void *receiver(void *arg)
{
    (void)arg;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    int number;
    hidden_pass();
    must(sigwait(&set, &number) == 0 && number == SIGUSR1);
    hidden_reach(2);
    seen = data; // B
    return 0;
}

void *sender(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_kill(target, SIGUSR1);
    data = 1; // A
    hidden_pass();
    return 0;
}

int main(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    target = start(receiver);
    pthread_t other = start(sender);
    join(target);
    join(other);
    return 0;
}
