// A cancelled thread runs its clean-up handlers; join orders them.
// expect: clean
#include <unistd.h>
#include "start.h"

int cleaned;

void clean_up(void *argument)
{
    (void)argument;
    cleaned = 1; // A
    hidden_pass();
}

void *worker(void *arg)
{
    (void)arg;
    pthread_cleanup_push(clean_up, 0);
    hidden_pass();
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return 0;
}

int main(void)
{
    pthread_t thread = start(worker);
    hidden_reach(1);
    pthread_cancel(thread);
    void *status;
    must(pthread_join(thread, &status) == 0 && status == PTHREAD_CANCELED);
    hidden_reach(2);
    int seen = cleaned; // B
    return seen == 1 ? 0 : 3;
}
