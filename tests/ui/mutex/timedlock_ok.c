// A timed lock that timed out holds nothing.
// expect: clean
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
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *visitor(void *arg)
{
    (void)arg;
    hidden_reach(1);
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 60;
    must(pthread_mutex_timedlock(&lock, &deadline) == 0);
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
