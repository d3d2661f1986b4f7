// A writer comes after all readers that released the lock, but not after one that read without it.
// expect: clean
#include "start.h"

int value;
int seen[3];
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void *reader_one(void *arg)
{
    (void)arg;
    pthread_rwlock_rdlock(&lock);
    seen[0] = value;
    pthread_rwlock_unlock(&lock);
    hidden_pass();
    return 0;
}

void *reader_two(void *arg)
{
    (void)arg;
    pthread_rwlock_rdlock(&lock);
    seen[1] = value; // A
    pthread_rwlock_unlock(&lock);
    hidden_pass();
    return 0;
}

void *writer(void *arg)
{
    (void)arg;
    hidden_reach(2);
    pthread_rwlock_wrlock(&lock);
    value = 1; // B
    pthread_rwlock_unlock(&lock);
    return 0;
}

int main(void)
{
    three(reader_one, reader_two, writer);
    return 0;
}
