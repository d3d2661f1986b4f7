// memcmp and memchr read up to where they stop.
// expect: clean
// flags: -fno-builtin
#include <string.h>
#include "start.h"

char left[32], right[32];
char haystack[32] = "0123456789";
int seen;

void *first(void *arg)
{
    (void)arg;
    left[16] = 1;
    haystack[8] = 'x';
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = memcmp(left, right, 16);          // C
    seen += memchr(haystack, '5', 16) != 0; // D
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
