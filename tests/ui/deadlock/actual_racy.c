// Two threads that wait for each other for ever: named instead of hanging.
// expect: deadlock lines=A,B cycle=2
// tsan: skip it would hang
#include "start.h"

pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&left);
    hidden_meet(2);
    pthread_mutex_lock(&right); // A
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&right);
    hidden_meet(2);
    pthread_mutex_lock(&left); // B
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
