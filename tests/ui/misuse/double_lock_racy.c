// A second lock of a mutex that is not recursive.
// expect: double-lock lines=A
// tsan: skip it looks only at locks that succeed
#define _GNU_SOURCE
#include <errno.h>
#include "start.h"

pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

int main(void)
{
    pthread_mutex_lock(&lock);
    must(pthread_mutex_lock(&lock) == EDEADLK); // A
    pthread_mutex_unlock(&lock);
    return 0;
}
