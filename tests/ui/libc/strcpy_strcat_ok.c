// strcpy, strcat and strncpy write where they should.
// expect: clean
// flags: -fno-builtin
#include <string.h>
#include "start.h"

char copy[32], joined[32] = "one ", padded[32];

void *first(void *arg)
{
    (void)arg;
    copy[6] = 1;
    joined[9] = 1;
    padded[16] = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    strcpy(copy, "short");         // D
    strcat(joined, "two");         // E
    strncpy(padded, "padded", 16); // F
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
