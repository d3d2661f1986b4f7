// A thread gives its stack variable away under a mutex, and the frame is used anew by later calls.
// expect: clean
#include "start.h"

int *shared;
int phase;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void publish(int phase_now)
{
    int local = 1;
    pthread_mutex_lock(&lock);
    shared = &local;
    phase = phase_now;
    pthread_mutex_unlock(&lock);
    hidden_pass();
    hidden_reach(phase_now * 2);
    pthread_mutex_lock(&lock);
    must(local == 2);
    shared = 0;
    pthread_mutex_unlock(&lock);
}

void *owner(void *arg)
{
    (void)arg;
    publish(1);
    publish(2);
    publish(3);
    return 0;
}

void *visitor(void *arg)
{
    (void)arg;
    for (int i = 1; i <= 3; i++) {
        hidden_reach(i * 2 - 1);
        pthread_mutex_lock(&lock);
        *shared = 2;
        pthread_mutex_unlock(&lock);
        hidden_pass();
    }
    return 0;
}

int main(void)
{
    both(owner, visitor);
    return 0;
}
