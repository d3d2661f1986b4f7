// A semaphore that starts at two lets two in at once: no mutual exclusion.
// expect: clean
#include <semaphore.h>
#include "start.h"

int value;
sem_t places;

void *worker(void *arg)
{
    (void)arg;
    sem_wait(&places);
    value = 1; // A
    sem_post(&places);
    return 0;
}

int main(void)
{
    sem_init(&places, 0, 1);
    both(worker, worker);
    sem_destroy(&places);
    return 0;
}
