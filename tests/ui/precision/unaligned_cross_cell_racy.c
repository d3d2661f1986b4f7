// Two unaligned words that overlap in one byte beyond a cell's end.
// tsan: skip it tells the size of a part
// expect: data-race global=buffer op=write,write size=8,4 lines=A,B
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
    ((struct packed_int *)(buffer + 12))->value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
