// Two unaligned words that overlap in one byte beyond a cell's end.
// expect: clean
#include "start.h"

struct packed_long {
    long value;
} __attribute__((packed));
struct packed_int {
    int value;
} __attribute__((packed));
_Alignas(8) char buffer[32];

void *first(void *arg)
{
    (void)arg;
    ((struct packed_long *)(buffer + 5))->value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    ((struct packed_int *)(buffer + 13))->value = 2;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
