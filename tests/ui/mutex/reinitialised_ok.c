// A mutex destroyed and made anew at the same place is a new mutex.
// expect: clean
#include "start.h"

int value;
pthread_mutex_t lock;

void *worker(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    for (int i = 0; i < 5; i++) {
        pthread_mutex_init(&lock, 0);
        both(worker, worker);
        pthread_mutex_destroy(&lock);
    }
    return value == 10 ? 0 : 3;
}
