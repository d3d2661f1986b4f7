// A thread that nobody joins or detaches before the end.
// expect: clean
#include "start.h"

void *worker(void *arg)
{
    (void)arg;
    hidden_pass();
    return 0;
}

int main(void)
{
    pthread_t thread;
    must(pthread_create(&thread, 0, worker, 0) == 0); // A
    hidden_reach(1);
    join(thread);
    return 0;
}
