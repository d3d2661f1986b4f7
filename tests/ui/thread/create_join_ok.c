// The end of a thread comes before the return of pthread_join, and not earlier.
// expect: clean
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
    result = 1;
    pthread_t thread = start(worker);
    join(thread);
    hidden_reach(1);
    int seen = result; // B
    return seen == 42 ? 0 : 3;
}
