// A timed join that succeeds orders; one that times out does not.
// expect: clean
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
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 60;
    must(pthread_timedjoin_np(thread, 0, &deadline) == 0);
    int seen = result; // B
    return seen == 42 ? 0 : 3;
}
