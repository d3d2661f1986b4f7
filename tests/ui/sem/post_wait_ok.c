// A post comes before the wait that takes it; what follows the post does not.
// expect: clean
#include <semaphore.h>
#include "start.h"

int data;
int seen;
sem_t items;

void *producer(void *arg)
{
    (void)arg;
    data = 1;
    sem_post(&items);
    hidden_pass();
    return 0;
}

void *consumer(void *arg)
{
    (void)arg;
    sem_wait(&items);
    hidden_reach(1);
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
