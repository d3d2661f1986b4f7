// memmove of overlapping areas.
// expect: clean
// flags: -fno-builtin
#include <string.h>
#include "start.h"

char area[64];

void *first(void *arg)
{
    (void)arg;
    area[34] = 1;
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
