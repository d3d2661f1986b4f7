// clockrdlock and clockwrlock, in time and too late.
// tsan: skip its runtime does not know pthread_rwlock_clockrdlock
// expect: data-race global=value op=write,read lines=A,B locks=1,0
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
#include "start.h"

int value;
int seen;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void *writer(void *arg)
{
    (void)arg;
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 60;
    must(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &deadline) == 0);
    value = 1; // A
    hidden_pass();
    hidden_reach(2);
    pthread_rwlock_unlock(&lock);
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    must(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &deadline) == ETIMEDOUT);
    seen = value; // B
    hidden_pass();
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
