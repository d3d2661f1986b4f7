// A handler that makes only safe calls, many times, from another thread.
// expect: clean
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include "start.h"

_Atomic int handled;
pthread_t target;

void handler(int number)
{
    (void)number;
    int saved = errno;
    must(write(-1, "x", 1) == -1);
    errno = saved;
    handled++;
}

void *worker(void *arg)
{
    (void)arg;
    hidden_pass();
    while (handled < 20) {
        void *block = malloc(100);
        free(block);
    }
    return 0;
}

void *sender(void *arg)
{
    (void)arg;
    hidden_reach(1);
    for (int i = 0; i < 20; i++) {
        pthread_kill(target, SIGUSR1);
        while (handled <= i)
            ;
    }
    return 0;
}

int main(void)
{
    signal(SIGUSR1, handler);
    target = start(worker);
    pthread_t other = start(sender);
    join(target);
    join(other);
    return 0;
}
