// A robust mutex handed on by a dead owner: EOWNERDEAD orders what the owner did.
// expect: clean
// tsan: skip it does not know what the death of an owner orders
#include <errno.h>
#include "start.h"

int value;
pthread_mutex_t lock;

void *dies(void *arg)
{
    (void)arg;
    must(pthread_mutex_lock(&lock) == 0);
    value = 1; // A
    hidden_pass();
    return 0;
}

void *heir(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(pthread_mutex_lock(&lock) == EOWNERDEAD);
    pthread_mutex_consistent(&lock);
    int seen = value;
    pthread_mutex_unlock(&lock);
    must(seen == 1);
    return 0;
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attributes);
    both(dies, heir);
    return 0;
}
