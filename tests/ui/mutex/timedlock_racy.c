// A timed lock that timed out holds nothing.
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#include <errno.h>
#include <time.h>
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
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    must(pthread_mutex_timedlock(&lock, &deadline) == ETIMEDOUT);
    value = 2; // B
    hidden_pass();
    return 0;
}

int main(void)
{
    both(owner, visitor);
    return 0;
}
