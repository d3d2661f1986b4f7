// The free comes first, then the use.
// expect: clean
#include "start.h"

int *block;
int seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *freer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    free(block); // A
    block = 0;
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *user(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    if (block)
        seen = *block;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    block = malloc(48); // C
    *block = 1;
    both(freer, user);
    return 0;
}
