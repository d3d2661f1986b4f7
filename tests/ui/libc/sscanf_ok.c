// sscanf writes its results.
// expect: clean
#include <stdio.h>
#include "start.h"

int number;
char word[16];
int seen;

void *first(void *arg)
{
    (void)arg;
    seen = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(sscanf("17 apples", "%d %15s", &number, word) == 2); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
