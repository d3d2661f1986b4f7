// Unlock of a readers-writer lock that nobody holds.
// expect: clean
#include "start.h"

pthread_rwlock_t lock;

int main(void)
{
    pthread_rwlock_init(&lock, 0);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    return 0;
}
