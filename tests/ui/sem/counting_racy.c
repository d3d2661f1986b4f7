// A semaphore that starts at two lets two in at once: no mutual exclusion.
// expect: data-race global=value op=write,write lines=A,A
#include <semaphore.h>
#include "start.h"

int value;
sem_t places;

void *worker(void *arg)
{
    (void)arg;
    sem_wait(&places);
    hidden_meet(2);
    value = 1; // A
    hidden_meet(4);
    sem_post(&places);
    return 0;
}

int main(void)
{
    sem_init(&places, 0, 2);
    both(worker, worker);
    sem_destroy(&places);
    return 0;
}
