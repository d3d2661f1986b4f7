// pthread_cond_clockwait gives the mutex up and takes it again.
// expect: clean
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
#include "start.h"

int value;
int ready;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void *waiter(void *arg)
{
    (void)arg;
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 60;
    pthread_mutex_lock(&lock);
    hidden_pass();
    while (!ready)
        must(pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &deadline) == 0);
    pthread_mutex_unlock(&lock);
    value = 2; // B
    return 0;
}

void *signaller(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    ready = 1;
    value = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(waiter, signaller);
    return 0;
}
