// Neighbouring bytes of one word do not race.
// expect: clean
#include "start.h"

char bytes[8];

void *first(void *arg)
{
    (void)arg;
    bytes[3] = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    bytes[4] = 2;
    bytes[2] = 2;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
