// A condition variable alone orders nothing: the data must be under its mutex.
// expect: data-race global=ready op=write,read lines=A,B locks=0,1
#include "start.h"

int ready;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void *producer(void *arg)
{
    (void)arg;
    ready = 1; // A
    pthread_cond_signal(&changed);
    hidden_pass();
    return 0;
}

void *consumer(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    while (!ready) // B
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(producer, consumer);
    return 0;
}
