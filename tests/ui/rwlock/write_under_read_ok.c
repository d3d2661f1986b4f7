// A write under a read lock: both sides hold the lock, and still race.
// expect: clean
#include "start.h"

int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_rwlock_wrlock(&lock);
    value = 1; // A
    pthread_rwlock_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_rwlock_wrlock(&lock);
    value = 2; // B
    pthread_rwlock_unlock(&lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
