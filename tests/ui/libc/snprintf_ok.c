// snprintf writes its buffer and reads its string arguments.
// expect: clean
// flags: -fno-builtin
#include <stdio.h>
#include "start.h"

char name[16] = "deadheat";
char buffer[64];

void *first(void *arg)
{
    (void)arg;
    name[12] = 'D';
    buffer[40] = 'x';
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    snprintf(buffer, sizeof buffer, "the %s and %d", name, 42); // C
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
