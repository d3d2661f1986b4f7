// After a thousand long jumps the call stack in the report is still right.
// expect: data-race global=value op=write,write lines=A,B path=store>first,second
#include <setjmp.h>
#include "start.h"

int value;
jmp_buf target;

__attribute__((noinline)) void jump(int depth)
{
    if (depth == 0)
        longjmp(target, 1);
    jump(depth - 1);
    __asm__ volatile("");
}

__attribute__((noinline)) void store(void)
{
    value = 1; // A
    __asm__ volatile("");
}

void *first(void *arg)
{
    (void)arg;
    for (volatile int i = 0; i < 1000; i++)
        if (setjmp(target) == 0)
            jump(10);
    store();
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
