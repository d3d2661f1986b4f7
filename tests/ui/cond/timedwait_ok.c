// After a wait that timed out the mutex is held again.
// expect: clean
#include <errno.h>
#include <time.h>
#include "start.h"

int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;

void *waiter(void *arg)
{
    (void)arg;
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    pthread_mutex_lock(&lock);
    must(pthread_cond_timedwait(&never, &lock, &deadline) == ETIMEDOUT);
    value = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *other(void *arg)
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
    both(waiter, other);
    return 0;
}
