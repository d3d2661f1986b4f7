// memset writes its area and no more.
// flags: -fno-builtin
// expect: data-race global=area op=read,write lines=A,B
#include <string.h>
#include "start.h"

char area[4096];
char seen;

void *first(void *arg)
{
    (void)arg;
    seen = area[2999]; // A
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
