// strlen reads the terminating byte and nothing behind it.
// expect: clean
// flags: -fno-builtin
#include <string.h>
#include "start.h"

char text[32] = "hello";
long seen;

void *first(void *arg)
{
    (void)arg;
    text[6] = 'x';
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
