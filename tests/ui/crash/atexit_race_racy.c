// A race in a handler of atexit is still reported.
// expect: data-race global=value op=write,write lines=A,B
#include "start.h"

int value;

void *detached(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    return 0;
}

void at_the_end(void)
{
    hidden_reach(1);
    value = 2; // B
}

int main(void)
{
    atexit(at_the_end);
    pthread_detach(start(detached));
    return 0;
}
