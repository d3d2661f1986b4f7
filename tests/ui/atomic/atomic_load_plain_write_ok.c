// An atomic load does not excuse a plain write.
// expect: clean
#include "start.h"

int word;
int seen;

void *first(void *arg)
{
    (void)arg;
    seen = __atomic_load_n(&word, __ATOMIC_ACQUIRE); // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
