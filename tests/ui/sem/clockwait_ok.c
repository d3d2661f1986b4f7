// sem_clockwait takes a post.
// expect: clean
// tsan: skip its runtime does not know sem_clockwait
#define _GNU_SOURCE
#include <semaphore.h>
#include <time.h>
#include "start.h"

int data;
int seen;
sem_t items;

void *producer(void *arg)
{
    (void)arg;
    data = 1;
    sem_post(&items);
    return 0;
}

void *consumer(void *arg)
{
    (void)arg;
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 60;
    must(sem_clockwait(&items, CLOCK_MONOTONIC, &deadline) == 0);
    seen = data;
    return 0;
}

int main(void)
{
    sem_init(&items, 0, 0);
    both(producer, consumer);
    sem_destroy(&items);
    return 0;
}
