// Data races can be switched off.
// expect: clean
// options: races=off
// tsan: skip its option has another name
#include "start.h"

int value;

void *first(void *arg)
{
    (void)arg;
    value = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
