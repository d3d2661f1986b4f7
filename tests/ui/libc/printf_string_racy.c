// printf reads a string argument.
// flags: -fno-builtin
// stdout: hello
// expect: data-race global=text op=write,read lines=A,B
#include <stdio.h>
#include "start.h"

char text[16] = "hello";

void *first(void *arg)
{
    (void)arg;
    text[1] = 'e'; // A
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
