// A condition wait with a mutex that the caller does not hold.
// expect: cond-wrong-mutex lines=A
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
    int answer = pthread_cond_timedwait(&changed, &lock, &deadline); // A
    must(answer == ETIMEDOUT || answer == EPERM);
    return 0;
}
