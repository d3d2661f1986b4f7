// Sixteen-byte atomics publish like the small ones.
// flags: -mcx16
// libs: -latomic
// expect: data-race global=data op=write,read lines=A,B
#include "start.h"

int data;
int seen;
_Alignas(16) __int128 word;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    __int128 now = __sync_val_compare_and_swap(&word, 0, 0);
    must(now == 0);
    hidden_pass();
    must(__sync_bool_compare_and_swap(&word, 0, ((__int128)1 << 100) | 1));
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
