// pthread_mutex_clocklock, as std::timed_mutex uses it.
// expect: clean
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
#include "start.h"

int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *owner(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *visitor(void *arg)
{
    (void)arg;
    hidden_reach(1);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 60;
    must(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &deadline) == 0);
    value = 2; // B
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

int main(void)
{
    both(owner, visitor);
    return 0;
}
