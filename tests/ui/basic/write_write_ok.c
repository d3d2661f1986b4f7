// Two threads write one global.
// expect: clean
#include "start.h"

int counter;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    counter = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    counter = 2; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
