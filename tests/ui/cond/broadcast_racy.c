// A broadcast wakes all waiters; each takes the mutex in turn.
// expect: data-race global=woken lines=A,A
#include "start.h"

int go;
int woken;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void *waiter(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    hidden_pass();
    while (!go)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    woken = 1; // A
    return 0;
}

int main(void)
{
    pthread_t one = start(waiter);
    pthread_t two = start(waiter);
    hidden_reach(2);
    pthread_mutex_lock(&lock);
    go = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    join(one);
    join(two);
    return 0;
}
