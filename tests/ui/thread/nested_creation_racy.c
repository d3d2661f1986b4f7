// A grandchild knows what its grandparent did before the creation, and nothing later.
// expect: data-race global=base op=write,read lines=A,B
#include "start.h"

int base;
int seen;

void *grandchild(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = base; // B
    return 0;
}

void *child(void *arg)
{
    (void)arg;
    join(start(grandchild));
    return 0;
}

int main(void)
{
    pthread_t thread = start(child);
    base = 1; // A
    hidden_pass();
    join(thread);
    return 0;
}
