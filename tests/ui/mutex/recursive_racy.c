// A recursive mutex is released by its last unlock only.
// expect: data-race global=value op=write,write lines=A,B locks=0,1
#define _GNU_SOURCE
#include "start.h"

int value;
pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock);
    value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    value = 2; // B
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
