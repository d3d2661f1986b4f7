// main leaves by pthread_exit while a thread goes on.
// expect: clean
// tsan: skip it does not know the main thread in a join
#include "start.h"

int result;
pthread_t main_thread;

void *worker(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_join(main_thread, 0);
    result = 2; // B
    exit(0);
    return 0;
}

int main(void)
{
    main_thread = pthread_self();
    pthread_detach(start(worker));
    result = 1; // A
    hidden_pass();
    pthread_exit(0);
}
