// A heap block is named with its size and where it was allocated.
// expect: clean
#include "start.h"

int *block;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    block[3] = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    block[3] = 2; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    block = malloc(64); // C
    both(first, second);
    free(block);
    return 0;
}
