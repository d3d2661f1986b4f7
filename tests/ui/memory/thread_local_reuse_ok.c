// The thread-local storage of a thread that ended is given to the next one.
// expect: clean
#include "start.h"

__thread char mine[5000];

void *worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5000; i++)
        mine[i] = 1;
    hidden_pass();
    return 0;
}

int main(void)
{
    for (int i = 0; i < 40; i++) {
        pthread_detach(start(worker));
        hidden_reach(i + 1);
    }
    return 0;
}
