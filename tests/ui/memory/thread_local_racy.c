// A thread-local variable is private until its address is given away.
// tsan: skip it names the making of the storage instead of the write
// expect: data-race tls=mine op=write,write lines=A,B
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
    *(int *)hidden_peek(&given) = 2; // B
    hidden_pass();
    return 0;
}

int main(void)
{
    both(owner, visitor);
    return 0;
}
