// A second release by a thread that knows nothing of the first takes its place.
// expect: clean
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

void *overwriter(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(atomic_exchange_explicit(&flag, 2, memory_order_release) == 1);
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
    three(writer, overwriter, reader);
    return 0;
}
