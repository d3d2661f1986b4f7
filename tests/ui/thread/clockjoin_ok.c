// A join against the monotonic clock orders when it succeeds.
// expect: clean
// tsan: skip its runtime does not know pthread_clockjoin_np
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
    return 0;
}

int main(void)
{
    pthread_t thread = start(worker);
    hidden_reach(1);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 60;
    must(pthread_clockjoin_np(thread, 0, CLOCK_MONOTONIC, &deadline) == 0);
    int seen = result; // B
    return seen == 42 ? 0 : 3;
}
