// A hundred thousand mutexes made, used and destroyed.
// expect: clean
#include "start.h"

void *worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50000; i++) {
        pthread_mutex_t lock;
        pthread_mutex_init(&lock, 0);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        pthread_mutex_destroy(&lock);
    }
    return 0;
}

int main(void)
{
    both(worker, worker);
    return 0;
}
