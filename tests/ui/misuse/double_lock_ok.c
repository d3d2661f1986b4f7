// A second lock of a mutex that is not recursive.
// expect: clean
#define _GNU_SOURCE
#include <errno.h>
#include "start.h"

pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int main(void)
{
    pthread_mutex_lock(&lock);
    must(pthread_mutex_lock(&lock) == 0);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
