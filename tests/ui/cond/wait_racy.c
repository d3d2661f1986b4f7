// Data handed over under the mutex with a condition; in the racy one it is written after the unlock.
// expect: data-race global=data op=write,read lines=A,B locks=0,1
#include "start.h"

int ready;
int data;
int seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void *producer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    data = 42; // A
    hidden_pass();
    pthread_cond_signal(&changed);
    return 0;
}

void *consumer(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    seen = data; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(producer, consumer);
    return 0;
}
