// Sending a signal comes before its handler; what follows the sending does not.
// expect: data-race global=data op=write,read lines=A,B
#include <signal.h>
#include <unistd.h>
#include "threads.h"

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
    hidden_pass();
    hidden_reach(3);
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
    signal(SIGUSR1, handler);
    target = start(receiver);
    pthread_t other = start(sender);
    join(target);
    join(other);
    return 0;
}
