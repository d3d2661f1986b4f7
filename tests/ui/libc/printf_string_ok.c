// printf reads a string argument.
// expect: clean
// flags: -fno-builtin
// stdout: hello
#include <stdio.h>
#include "start.h"

char text[16] = "hello";

void *first(void *arg)
{
    (void)arg;
    text[7] = 'e';
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    printf("%s\n", text); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
