// sem_trywait orders when it takes a post, not when it answers EAGAIN.
// expect: data-race global=data op=write,read lines=A,B
#include <errno.h>
#include <semaphore.h>
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
    must(sem_trywait(&items) == -1 && errno == EAGAIN);
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
