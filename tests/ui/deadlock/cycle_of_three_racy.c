// A cycle of three locks in three threads.
// expect: lock-order-inversion lines=A,B,C cycle=3
#include "start.h"

pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t two = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t more = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&two); // A
    pthread_mutex_unlock(&two);
    pthread_mutex_unlock(&one);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&two);
    pthread_mutex_lock(&more); // B
    pthread_mutex_unlock(&more);
    pthread_mutex_unlock(&two);
    hidden_pass();
    return 0;
}

void *last(void *arg)
{
    (void)arg;
    hidden_reach(2);
    pthread_mutex_lock(&more);
    pthread_mutex_lock(&one); // C
    pthread_mutex_unlock(&one);
    pthread_mutex_unlock(&more);
    return 0;
}

int main(void)
{
    three(first, second, last);
    return 0;
}
