// What main did before pthread_create is seen by the thread; what it does afterwards is not.
// expect: clean
#include "start.h"

int config;
int seen;

void *worker(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = config; // B
    return 0;
}

int main(void)
{
    config = 5;
    pthread_t thread = start(worker);
    hidden_pass();
    join(thread);
    return 0;
}
