// A thread-local variable is private until its address is given away.
// expect: clean
#include "start.h"

__thread int mine;
int *given;

void *owner(void *arg)
{
    (void)arg;
    hidden_poke(&given, (long)&mine);
    mine = 1; // A
    hidden_pass();
    hidden_reach(2);
    return 0;
}

void *visitor(void *arg)
{
    (void)arg;
    hidden_reach(1);
    mine = 2;
    hidden_pass();
    return 0;
}

int main(void)
{
    both(owner, visitor);
    return 0;
}
