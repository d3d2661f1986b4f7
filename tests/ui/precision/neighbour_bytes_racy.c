// Neighbouring bytes of one word do not race.
// expect: data-race global=bytes op=write,write size=1,1 lines=A,B
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
    bytes[3] = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
