// Destroying a mutex that is held.
// expect: clean
#include "start.h"

pthread_mutex_t lock;

int main(void)
{
    pthread_mutex_init(&lock, 0);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_destroy(&lock); // A
    return 0;
}
