// clock_gettime, gettimeofday and localtime_r write into the caller's memory.
// expect: clean
#include <time.h>
#include "start.h"

struct timespec moment;
long seen;

void *first(void *arg)
{
    (void)arg;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    clock_gettime(CLOCK_MONOTONIC, &moment); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
