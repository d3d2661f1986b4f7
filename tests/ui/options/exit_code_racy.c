// The status for findings can be set.
// options: exit-code=7
// exit: 7
// tsan: skip its option has another name
// expect: data-race global=value op=write,write lines=A,B
#include "start.h"

int value;

void *first(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
