// strlen reads the terminating byte and nothing behind it.
// flags: -fno-builtin
// expect: data-race global=text op=write,read lines=A,B
#include <string.h>
#include "start.h"

char text[32] = "hello";
long seen;

void *first(void *arg)
{
    (void)arg;
    text[5] = 0; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = strlen(text); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
