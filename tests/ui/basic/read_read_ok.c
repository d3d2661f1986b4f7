// Two threads that only read do not race.
// expect: clean
#include "start.h"

int value = 3;
int seen_first, seen_second;

void *first(void *arg)
{
    (void)arg;
    seen_first = value;
    hidden_meet(2);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    seen_second = value;
    hidden_meet(2);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
