// Two waiters of one condition with two mutexes.
// expect: cond-wrong-mutex lines=A
// tsan: skip it does not look for it
#include "start.h"

int go;
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t two = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&one);
    hidden_pass();
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        pthread_cond_wait(&changed, &one);
    pthread_mutex_unlock(&one);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    pthread_mutex_lock(&two);
    hidden_pass();
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        pthread_cond_wait(&changed, &two); // A
    pthread_mutex_unlock(&two);
    return 0;
}

int main(void)
{
    pthread_t a = start(first);
    pthread_t b = start(second);
    hidden_reach(2);
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    pthread_mutex_lock(&two);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&two);
    join(a);
    join(b);
    return 0;
}
