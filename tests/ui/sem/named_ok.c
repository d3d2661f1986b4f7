// A named semaphore, opened twice.
// expect: clean
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
sem_t *mine, *yours;

void *producer(void *arg)
{
    (void)arg;
    data = 1;
    sem_post(mine);
    hidden_pass();
    return 0;
}

void *consumer(void *arg)
{
    (void)arg;
    sem_wait(yours);
    hidden_reach(1);
    seen = data; // B
    return 0;
}

int main(void)
{
    char name[64];
    snprintf(name, sizeof name, "/deadheat-ui-%d", (int)getpid());
    mine = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    yours = sem_open(name, 0);
    sem_unlink(name);
    must(mine != SEM_FAILED && yours != SEM_FAILED);
    both(producer, consumer);
    sem_close(mine);
    sem_close(yours);
    return 0;
}
