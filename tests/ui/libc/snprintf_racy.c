// snprintf writes its buffer and reads its string arguments.
// flags: -fno-builtin
// expect: data-race global=name op=write,read lines=A,C
// expect: data-race global=buffer op=write,write lines=B,C
#include <stdio.h>
#include "start.h"

char name[16] = "deadheat";
char buffer[64];

void *first(void *arg)
{
    (void)arg;
    name[3] = 'D';   // A
    buffer[5] = 'x'; // B
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
