// A cancelled thread runs its clean-up handlers; join orders them.
// expect: data-race global=cleaned op=write,read lines=A,B
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
    hidden_reach(2);
    int seen = cleaned; // B
    join(thread);
    return seen == 1 ? 0 : 3;
}
