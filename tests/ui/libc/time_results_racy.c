// clock_gettime, gettimeofday and localtime_r write into the caller's memory.
// expect: data-race global=moment op=read,write lines=A,B
#include <time.h>
#include "start.h"

struct timespec moment;
long seen;

void *first(void *arg)
{
    (void)arg;
    seen = moment.tv_sec; // A
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
