// A read and a write in one statement are one finding, however the compiler splits them.
// expect: data-race global=counter lines=A,B
#include "start.h"

int counter;

void *first(void *arg)
{
    (void)arg;
    counter++; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    counter++; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
