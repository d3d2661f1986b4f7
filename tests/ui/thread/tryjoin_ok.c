// A try-join that answers EBUSY orders nothing.
// expect: clean
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
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
    while (pthread_tryjoin_np(thread, 0) == EBUSY)
        sched_yield();
    int seen = result; // B
    return seen == 42 ? 0 : 3;
}
