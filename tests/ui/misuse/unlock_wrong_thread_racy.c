// Unlock of a mutex that another thread holds.
// expect: unlock-wrong-thread lines=A
// tsan: skip it has one name for both kinds of wrong unlock
#include "start.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *stranger(void *arg)
{
    (void)arg;
    pthread_mutex_unlock(&lock); // A
    return 0;
}

int main(void)
{
    pthread_mutex_lock(&lock);
    join(start(stranger));
    return 0;
}
