// In a static program, too, the C library's accesses are seen after a long jump.
// expect: data-race global=text op=write,read lines=A,B
// flags: -static -fno-builtin
#include <setjmp.h>
#include <string.h>
#include "start.h"

char text[8];
char seen[8];
jmp_buf target;

void *first(void *arg)
{
    (void)arg;
    for (volatile int i = 0; i < 10; i++)
        if (setjmp(target) == 0)
            longjmp(target, 1);
    memcpy(text, "abcdefg", 8); // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    memcpy(seen, text, 8); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
