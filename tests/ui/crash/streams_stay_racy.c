// Standard input, output and error of the program stay its own.
// stdin: some words
// stdout: got some words
// stderr: said some words
// expect: data-race global=value op=write,write lines=A,B
#include <stdio.h>
#include <string.h>
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
    char line[64];
    must(fgets(line, sizeof line, stdin) != 0);
    both(first, second);
    printf("got %s", line);
    fprintf(stderr, "said %s", line);
    return 0;
}
