// A stack variable of one thread, used by two others: named where the debug info tells.
// expect: data-race stack=shared op=write,write lines=A,B
#include "start.h"

void *first(void *argument)
{
    *(int *)argument = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *argument)
{
    hidden_reach(1);
    *(int *)argument = 2; // B
    return 0;
}

int main(void)
{
    int shared = 0;
    pthread_t one, two;
    must(pthread_create(&one, 0, first, &shared) == 0);
    must(pthread_create(&two, 0, second, &shared) == 0);
    join(one);
    join(two);
    return 0;
}
