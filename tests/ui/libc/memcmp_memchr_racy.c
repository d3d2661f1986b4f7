// memcmp and memchr read up to where they stop.
// flags: -fno-builtin
// expect: data-race global=left op=write,read lines=A,C
// expect: data-race global=haystack op=write,read lines=B,D
#include <string.h>
#include "start.h"

char left[32], right[32];
char haystack[32] = "0123456789";
int seen;

void *first(void *arg)
{
    (void)arg;
    left[5] = 1;       // A
    haystack[2] = 'x'; // B
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
