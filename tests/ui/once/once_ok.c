// pthread_once orders the initialisation before every return from it.
// expect: clean
#include "start.h"

int table;
int seen;
pthread_once_t control = PTHREAD_ONCE_INIT;

void initialise(void)
{
    table = 5; // A
}

void *first(void *arg)
{
    (void)arg;
    pthread_once(&control, initialise);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_once(&control, initialise);
    seen = table; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
