// realloc that moves the block races with a use of the old one.
// expect: clean
#include "start.h"

char *block;
char *wall;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *user(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    block[5] = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *grower(void *arg)
{
    (void)arg;
    hidden_reach(1);
    char *old = (char *)hidden_peek(&block);
    pthread_mutex_lock(&lock);
    char *grown = realloc(old, 1 << 20); // B
    pthread_mutex_unlock(&lock);
    hidden_poke(&block, (long)grown);
    return 0;
}

int main(void)
{
    block = malloc(32); // C
    wall = malloc(32);
    both(user, grower);
    free(wall);
    free((char *)hidden_peek(&block));
    return 0;
}
