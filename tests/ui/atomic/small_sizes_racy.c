// One- and two-byte atomics publish; a plain neighbour byte does not disturb them.
// expect: data-race global=data op=write,read lines=A,B
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
struct {
    atomic_uchar byte;
    char plain;
    atomic_ushort half;
} words;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    words.plain = 1;
    atomic_store_explicit(&words.byte, 1, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *middle(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(atomic_load_explicit(&words.byte, memory_order_acquire) == 1);
    atomic_fetch_add_explicit(&words.half, 3, memory_order_release);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(2);
    must(atomic_load_explicit(&words.half, memory_order_acquire) == 3);
    seen = data; // B
    return 0;
}

int main(void)
{
    three(writer, middle, reader);
    return 0;
}
