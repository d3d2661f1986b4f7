// sem_timedwait in time and too late.
// expect: data-race global=data op=write,read lines=A,B
#include <errno.h>
#include <semaphore.h>
#include <time.h>
#include "start.h"

int data;
int seen;
sem_t items;

void *producer(void *arg)
{
    (void)arg;
    data = 1; // A
    hidden_pass();
    return 0;
}

void *consumer(void *arg)
{
    (void)arg;
    hidden_reach(1);
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    must(sem_timedwait(&items, &deadline) == -1 && errno == ETIMEDOUT);
    seen = data; // B
    return 0;
}

int main(void)
{
    sem_init(&items, 0, 0);
    both(producer, consumer);
    sem_destroy(&items);
    return 0;
}
