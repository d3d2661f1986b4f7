// Mutexes with priority inheritance and with sharing between processes order as well.
// expect: clean
#define _GNU_SOURCE
#include "start.h"

int value;
pthread_mutex_t inherit, shared;

void *worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(i & 1 ? &inherit : &shared);
        pthread_mutex_unlock(i & 1 ? &inherit : &shared);
        pthread_mutex_lock(&inherit);
        value++;
        pthread_mutex_unlock(&inherit);
    }
    return 0;
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inherit, &attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_NONE);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared, &attributes);
    both(worker, worker);
    pthread_mutex_destroy(&inherit);
    pthread_mutex_destroy(&shared);
    return value == 200 ? 0 : 3;
}
