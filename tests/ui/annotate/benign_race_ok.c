// A race that the program calls benign is not reported.
// expect: clean
#include "start.h"

void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address, long size, const char *why);
long statistics;

void *first(void *arg)
{
    (void)arg;
    statistics = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    statistics = 2;
    return 0;
}

int main(void)
{
    AnnotateBenignRaceSized(__FILE__, __LINE__, &statistics, sizeof statistics, "a lost update does not matter");
    both(first, second);
    return 0;
}
