// A condition wait with a mutex that the caller does not hold.
// expect: clean
// tsan: skip it has another name for it
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
#include "start.h"

pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

int main(void)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    pthread_mutex_lock(&lock);
    int answer = pthread_cond_timedwait(&changed, &lock, &deadline); // A
    must(answer == ETIMEDOUT || answer == EPERM);
    pthread_mutex_unlock(&lock);
    return 0;
}
