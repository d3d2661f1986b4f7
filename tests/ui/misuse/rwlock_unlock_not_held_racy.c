// Unlock of a readers-writer lock that nobody holds.
// tsan: skip it does not look for it
// expect: unlock-not-held lines=A
#include "start.h"

pthread_rwlock_t lock;

int main(void)
{
    pthread_rwlock_init(&lock, 0);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_unlock(&lock); // A
    return 0;
}
