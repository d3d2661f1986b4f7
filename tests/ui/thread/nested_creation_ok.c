// A grandchild knows what its grandparent did before the creation, and nothing later.
// expect: clean
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
    base = 1;
    pthread_t thread = start(child);
    hidden_pass();
    join(thread);
    return 0;
}
