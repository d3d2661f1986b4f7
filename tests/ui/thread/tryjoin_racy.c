// A try-join that answers EBUSY orders nothing.
// expect: data-race global=result op=write,read lines=A,B
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
    hidden_reach(2);
    return 0;
}

int main(void)
{
    pthread_t thread = start(worker);
    hidden_reach(1);
    must(pthread_tryjoin_np(thread, 0) == EBUSY);
    int seen = result; // B
    hidden_pass();
    join(thread);
    return seen == 42 ? 0 : 3;
}
