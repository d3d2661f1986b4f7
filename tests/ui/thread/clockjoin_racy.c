// A join against the monotonic clock orders when it succeeds.
// tsan: skip its runtime does not know pthread_clockjoin_np
// expect: data-race global=result op=write,read lines=A,B
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
#include "start.h"

int result;

void *worker(void *arg)
{
    (void)arg;
    result = 42; // A
    hidden_pass();
    hidden_reach(2);
    return 0;
}

int main(void)
{
    pthread_t thread = start(worker);
    hidden_reach(1);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    must(pthread_clockjoin_np(thread, 0, CLOCK_MONOTONIC, &deadline) == ETIMEDOUT);
    int seen = result; // B
    hidden_pass();
    join(thread);
    return seen == 42 ? 0 : 3;
}
