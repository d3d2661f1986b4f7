// A relaxed read-modify-write by another thread continues the release sequence; a relaxed store ends it.
// expect: data-race global=data op=write,read lines=A,B
// tsan: skip a relaxed store leaves its release clock in place, so the race is missed
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_int flag;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    atomic_store_explicit(&flag, 1, memory_order_release);
    hidden_pass();
    return 0;
}

void *middle(void *arg)
{
    (void)arg;
    hidden_reach(1);
    atomic_store_explicit(&flag, 2, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(2);
    must(atomic_load_explicit(&flag, memory_order_acquire) == 2);
    seen = data; // B
    return 0;
}

int main(void)
{
    three(writer, middle, reader);
    return 0;
}
