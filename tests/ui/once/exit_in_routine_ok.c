// A thread ends inside its pthread_once, so that the next one runs the routine again: every try happens before the next.
// expect: clean
#include "start.h"

int tries;
pthread_once_t control = PTHREAD_ONCE_INIT;

void let_go(void *arg)
{
    (void)arg;
    hidden_pass();
}

void initialise(void)
{
    if (tries++ == 0)
        pthread_exit(0);
}

void *first(void *arg)
{
    (void)arg;
    pthread_cleanup_push(let_go, 0);
    pthread_once(&control, initialise);
    pthread_cleanup_pop(0);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_once(&control, initialise);
    must(tries == 2);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
