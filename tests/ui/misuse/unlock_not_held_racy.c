// Unlock of a mutex that nobody holds.
// expect: unlock-not-held lines=A
// golden: gcc
#include "start.h"

pthread_mutex_t lock;

int main(void)
{
    pthread_mutex_init(&lock, 0);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock); // A
    return 0;
}
