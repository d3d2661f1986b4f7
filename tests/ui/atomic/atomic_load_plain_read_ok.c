// Reads do not race, atomic or not; and a plain initialisation before the threads is fine.
// expect: clean
#include "start.h"

int word;
int seen_first, seen_second;

void *first(void *arg)
{
    (void)arg;
    seen_first = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
    hidden_meet(2);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    seen_second = word;
    hidden_meet(2);
    return 0;
}

int main(void)
{
    word = 4;
    both(first, second);
    return 0;
}
