// A thread created detached is no leak, and is ordered like any other.
// expect: clean
#include "start.h"

int result;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *worker(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    result = 42; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    must(pthread_create(&thread, &attributes, worker, 0) == 0);
    pthread_attr_destroy(&attributes);
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    int seen = result; // B
    pthread_mutex_unlock(&lock);
    return seen == 42 ? 0 : 3;
}
