// A write lock and a mutex in both orders.
// expect: lock-order-inversion lines=A,B cycle=2
#include "start.h"

pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t entry = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_rwlock_wrlock(&table);
    pthread_mutex_lock(&entry); // A
    pthread_mutex_unlock(&entry);
    pthread_rwlock_unlock(&table);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&entry);
    pthread_rwlock_wrlock(&table); // B
    pthread_rwlock_unlock(&table);
    pthread_mutex_unlock(&entry);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
