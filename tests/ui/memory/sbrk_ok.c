// Memory from sbrk.
// expect: clean
#define _DEFAULT_SOURCE
#include <unistd.h>
#include "start.h"

int *block;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    block[7] = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    block[7] = 2; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    block = sbrk(4096);
    must(block != (void *)-1);
    both(first, second);
    return 0;
}
