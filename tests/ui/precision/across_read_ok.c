// Words across two cells that are only read, and bytes beside them that are written.
// expect: clean
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
    seen = look_across() + look_across();
    buffer[5] = 1;
    buffer[10] = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    if (look_across() == 9)
        abort();
    buffer[4] = 2;
    buffer[11] = 2;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
