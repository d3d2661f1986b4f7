// A try-lock that answers EBUSY gives no right to touch the data.
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#include <errno.h>
#include "start.h"

int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *owner(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 1; // A
    hidden_pass();
    hidden_reach(2);
    pthread_mutex_unlock(&lock);
    return 0;
}

void *visitor(void *arg)
{
    (void)arg;
    hidden_reach(1);
    int answer = pthread_mutex_trylock(&lock);
    must(answer == EBUSY);
    value = 2; // B
    hidden_pass();
    return 0;
}

int main(void)
{
    both(owner, visitor);
    return 0;
}
