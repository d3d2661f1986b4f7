// A statically linked program is watched as well.
// expect: clean
// flags: -static
// tsan: skip its runtime does not link statically
#include "start.h"

int shared;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    shared = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    shared = 2; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
