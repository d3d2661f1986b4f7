// memset writes its area and no more.
// expect: clean
// flags: -fno-builtin
#include <string.h>
#include "start.h"

char area[4096];
char seen;

void *first(void *arg)
{
    (void)arg;
    seen = area[3000];
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    memset(area, 1, 3000); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
