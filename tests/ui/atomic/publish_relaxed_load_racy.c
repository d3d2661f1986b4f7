// A relaxed load of a released value does not order; an acquire load does.
// expect: data-race global=data op=write,read lines=A,B
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

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(atomic_load_explicit(&flag, memory_order_relaxed) == 1);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
