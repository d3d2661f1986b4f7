// The same with the bytes around: only what such code uses is touched.
// flags: -O2
// expect: clean
#include "start.h"
#include <string.h>

_Alignas(16) char copied[16], other[16], filled[48], text[16], compared[16];
volatile int same;

__attribute__((noinline)) static void use(char *to, const char *from, char *fill, char *word, const char *with)
{
    memcpy(to, from, 12);
    memset(fill, 0, 40);
    strcpy(word, "hello");
    same = memcmp(with, from, 8) == 0;
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
    copied[12] = 1;
    filled[40] = 1;
    text[6] = 1;
    compared[8] = 1;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
