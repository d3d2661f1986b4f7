// A race twenty thousand calls deep.
// expect: clean
#include "start.h"

#define DEPTH 20000
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void descend(int depth)
{
    if (depth > 1)
        descend(depth - 1);
    else {
        pthread_mutex_lock(&lock);
        value = 1; // A
        pthread_mutex_unlock(&lock);
    }
    __asm__ volatile("");
}

void *first(void *arg)
{
    (void)arg;
    descend(DEPTH);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    value = 2; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
