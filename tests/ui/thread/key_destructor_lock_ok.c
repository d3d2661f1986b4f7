// Key destructors that take locks and free memory, in many threads.
// expect: clean
#include "start.h"

pthread_key_t key;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int freed;

void destructor(void *value)
{
    pthread_mutex_lock(&lock);
    freed += *(int *)value;
    pthread_mutex_unlock(&lock);
    free(value);
}

void *worker(void *arg)
{
    (void)arg;
    int *value = malloc(sizeof *value);
    *value = 1;
    pthread_setspecific(key, value);
    return 0;
}

int main(void)
{
    pthread_key_create(&key, destructor);
    pthread_t threads[16];
    for (int i = 0; i < 16; i++)
        threads[i] = start(worker);
    for (int i = 0; i < 16; i++)
        join(threads[i]);
    return freed == 16 ? 0 : 3;
}
