// Two locks taken in both orders, never at once: an inversion before it deadlocks.
// expect: lock-order-inversion lines=A,B cycle=2
// golden: clang
#include "start.h"

int value;
pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right); // A
    value = 1;
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&right);
    pthread_mutex_lock(&left); // B
    value = 2;
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
