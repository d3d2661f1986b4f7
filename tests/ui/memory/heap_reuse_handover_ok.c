// Blocks allocated by one thread, freed by another, again and again.
// expect: clean
#include <malloc.h>
#include "start.h"

#define COUNT 400
char *blocks[COUNT];
int filled;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void *producer(void *arg)
{
    (void)arg;
    for (int i = 0; i < COUNT; i++) {
        char *block = malloc(100 + i);
        block[i % 100] = 1;
        pthread_mutex_lock(&lock);
        blocks[i] = block;
        filled = i + 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

void *consumer(void *arg)
{
    (void)arg;
    for (int i = 0; i < COUNT; i++) {
        pthread_mutex_lock(&lock);
        while (filled <= i)
            pthread_cond_wait(&changed, &lock);
        char *block = blocks[i];
        pthread_mutex_unlock(&lock);
        block[(i + 1) % 100] = 2;
        free(block);
    }
    return 0;
}

int main(void)
{
    mallopt(M_ARENA_MAX, 1);
    both(producer, consumer);
    return 0;
}
