// Headers that check sizes (_FORTIFY_SOURCE) spell copies and fills as functions of the compiler's own, which it makes
// code in line of: the accesses are seen all the same. Said behind `-Wp,`, as distributions say it.
// flags: -O2 -Wp,-D_FORTIFY_SOURCE=2
// expect: data-race global=copied op=write,write lines=A,K
// expect: data-race global=filled op=write,write lines=B,L
#include "start.h"
#include <string.h>

_Alignas(16) char copied[16], other[16], filled[48];

__attribute__((noinline)) static void use(char *to, const char *from, char *fill)
{
    memcpy(to, from, 12); // A
    memset(fill, 0, 40); // B
}

void *first(void *arg)
{
    (void)arg;
    use(copied, other, filled);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    copied[11] = 1; // K
    filled[39] = 1; // L
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
