// Waiting for a lock that its owner will release is no deadlock.
// expect: clean
#include "start.h"

pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&left);
    hidden_meet(2);
    pthread_mutex_unlock(&left);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&right);
    hidden_meet(2);
    pthread_mutex_lock(&left);
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
