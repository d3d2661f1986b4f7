// Sending a signal comes before its handler; what follows the sending does not.
// tsan: skip its own report in a handler counts as a change of errno
// expect: data-race global=data op=write,read lines=A,B
#include <signal.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
pthread_t target;

void handler(int number)
{
    (void)number;
    hidden_reach(2);
    seen = data; // B
    hidden_pass();
}

void *receiver(void *arg)
{
    (void)arg;
    sigset_t none;
    sigemptyset(&none);
    hidden_pass();
    sigsuspend(&none);
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
    signal(SIGUSR1, handler);
    target = start(receiver);
    pthread_t other = start(sender);
    join(target);
    join(other);
    return 0;
}
