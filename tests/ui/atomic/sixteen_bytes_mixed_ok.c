// A plain read of one half of a sixteen-byte atomic.
// expect: clean
// flags: -mcx16
// libs: -latomic
#include "start.h"

union {
    __int128 whole;
    long half[2];
} word __attribute__((aligned(16)));
long neighbour;
long seen;

void *writer(void *arg)
{
    (void)arg;
    must(__sync_bool_compare_and_swap(&word.whole, 0, 1)); // A
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = neighbour;
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
