// A try-lock that answers EBUSY gives no right to touch the data.
// expect: clean
#include <errno.h>
#include "start.h"

int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *owner(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *visitor(void *arg)
{
    (void)arg;
    hidden_reach(1);
    int answer = pthread_mutex_trylock(&lock);
    must(answer == 0);
    value = 2; // B
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

int main(void)
{
    both(owner, visitor);
    return 0;
}
