// memmove of overlapping areas.
// flags: -fno-builtin
// expect: data-race global=area op=write,read lines=A,B
#include <string.h>
#include "start.h"

char area[64];

void *first(void *arg)
{
    (void)arg;
    area[33] = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    memmove(area, area + 2, 32); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
