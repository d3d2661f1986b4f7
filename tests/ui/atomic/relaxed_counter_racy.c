// Relaxed increments never race with each other; a plain one among them does.
// expect: data-race global=counter op=atomic-read-write,read size=4,4 lines=A,B
#include <stdatomic.h>
#include "start.h"

int counter;
int seen;

void *first(void *arg)
{
    (void)arg;
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = counter; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
