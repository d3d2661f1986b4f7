// Unlock of a mutex that another thread holds.
// expect: clean
#include "start.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *stranger(void *arg)
{
    (void)arg;
    return 0;
}

int main(void)
{
    pthread_mutex_lock(&lock);
    join(start(stranger));
    pthread_mutex_unlock(&lock);
    return 0;
}
