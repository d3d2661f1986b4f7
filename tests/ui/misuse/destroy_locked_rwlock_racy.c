// Destroying a readers-writer lock that a reader holds.
// expect: destroy-locked lines=A
// tsan: skip it does not look at readers
#include "start.h"

pthread_rwlock_t lock;

int main(void)
{
    pthread_rwlock_init(&lock, 0);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_destroy(&lock); // A
    return 0;
}
