// strcpy, strcat and strncpy write where they should.
// tsan: skip it does not look at what strcat writes
// flags: -fno-builtin
// expect: data-race global=copy op=write,write lines=A,D
// expect: data-race global=joined op=write,write lines=B,E
// expect: data-race global=padded op=write,write lines=C,F
#include <string.h>
#include "start.h"

char copy[32], joined[32] = "one ", padded[32];

void *first(void *arg)
{
    (void)arg;
    copy[4] = 1;    // A
    joined[7] = 1;  // B
    padded[15] = 1; // C
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
