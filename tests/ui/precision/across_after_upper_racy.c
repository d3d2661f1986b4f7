// A word across two cells of which the step has been at the upper one only.
// tsan: skip it tells the size of a part
// expect: data-race global=buffer op=write,write size=4,1 lines=A,B
#include "start.h"

struct packed_int {
    int value;
} __attribute__((packed));
_Alignas(8) char buffer[32];
int seen;

static void across(int value)
{
    ((struct packed_int *)(buffer + 6))->value = value; // A
}

static int look_across(void)
{
    return ((struct packed_int *)(buffer + 6))->value; // R
}

void *first(void *arg)
{
    (void)arg;
    *(volatile long *)(buffer + 8) = 1;
    across(look_across());
    across(2);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    buffer[6] = 3; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
