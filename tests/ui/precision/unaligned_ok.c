// An unaligned word that lies across two cells.
// expect: clean
#include "start.h"

struct packed_int {
    int value;
} __attribute__((packed));
_Alignas(8) char buffer[16];
char seen;

void *first(void *arg)
{
    (void)arg;
    ((struct packed_int *)(buffer + 6))->value = 0x01020304; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = buffer[10] + buffer[5];
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
