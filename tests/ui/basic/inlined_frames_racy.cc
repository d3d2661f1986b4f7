// An access inside an inlined function shows the inlined frame and its caller.
// expect: data-race global=total op=write,write lines=A,A path=add_inline>first,add_inline>second
#include "start.h"

int total;

__attribute__((always_inline)) static inline void add_inline(int value)
{
    total = value; // A
}

void *first(void *)
{
    add_inline(1);
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    add_inline(2);
    return nullptr;
}

int main()
{
    both(first, second);
}
