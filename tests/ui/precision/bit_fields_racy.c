// Bit fields of one unit race; a zero-width field parts them.
// expect: data-race global=bits lines=A,B
#include "start.h"

struct {
    unsigned left : 4;
    unsigned right : 4;
} bits;

void *first(void *arg)
{
    (void)arg;
    bits.left = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    bits.right = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
