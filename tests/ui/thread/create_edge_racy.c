// What main did before pthread_create is seen by the thread; what it does afterwards is not.
// expect: data-race global=config op=write,read lines=A,B
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
    pthread_t thread = start(worker);
    config = 5; // A
    hidden_pass();
    join(thread);
    return 0;
}
