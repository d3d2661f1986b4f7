// Two readers of the lock are not ordered with each other.
// expect: clean
#include "start.h"

int cache;
int seen;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
    cache = 1;
    pthread_rwlock_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_rwlock_rdlock(&lock);
    seen = cache; // B
    pthread_rwlock_unlock(&lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
