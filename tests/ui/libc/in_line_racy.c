// What compilers know better code for than a call of the C library: a copy, a fill, a text and comparisons.
// flags: -O2
// expect: data-race global=copied op=write,write lines=A,K
// expect: data-race global=filled op=write,write lines=B,L
// expect: data-race global=text op=write,write lines=C,M
// expect: data-race global=compared op=read,write lines=D,N
#include "start.h"
#include <string.h>

_Alignas(16) char copied[16], other[16], filled[48], text[16], compared[16];
volatile int same;

__attribute__((noinline)) static void use(char *to, const char *from, char *fill, char *word, const char *with)
{
    memcpy(to, from, 12); // A
    memset(fill, 0, 40); // B
    strcpy(word, "hello"); // C
    same = memcmp(with, from, 8) == 0; // D
}

void *first(void *arg)
{
    (void)arg;
    use(copied, other, filled, text, compared);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    copied[11] = 1; // K
    filled[39] = 1; // L
    text[5] = 1; // M
    compared[0] = 1; // N
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
