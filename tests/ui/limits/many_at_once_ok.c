// Two hundred threads alive at once, all but one behind the lock.
// expect: clean
#include "start.h"

#define COUNT 200
int counter;
int seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *worker(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    counter = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    hidden_reach(COUNT + 1);
    return 0;
}

void *odd(void *arg)
{
    (void)arg;
    hidden_reach(COUNT);
    pthread_mutex_lock(&lock);
    seen = counter; // B
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

int main(void)
{
    pthread_t threads[COUNT + 1];
    for (int i = 0; i < COUNT; i++)
        threads[i] = start(worker);
    threads[COUNT] = start(odd);
    for (int i = 0; i <= COUNT; i++)
        join(threads[i]);
    return 0;
}
