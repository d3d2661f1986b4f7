// timedrdlock and timedwrlock, in time and too late.
// expect: data-race global=value op=write,read lines=A,B locks=1,0
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
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 60;
    must(pthread_rwlock_timedwrlock(&lock, &deadline) == 0);
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
    clock_gettime(CLOCK_REALTIME, &deadline);
    must(pthread_rwlock_timedrdlock(&lock, &deadline) == ETIMEDOUT);
    seen = value; // B
    hidden_pass();
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
