// Two threads write one global.
// expect: data-race global=counter op=write,write size=4,4 lines=A,B locks=0,0 count=1
// golden: clang
#include "start.h"

int counter;

void *first(void *arg)
{
    (void)arg;
    counter = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    counter = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
