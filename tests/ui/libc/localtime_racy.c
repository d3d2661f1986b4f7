// localtime answers in a static buffer; localtime_r in the caller's.
// expect: data-race lines=A,B
// tsan: skip its runtime does not know the static buffer of localtime
#include <time.h>
#include "start.h"

time_t now = 1000000;

void *first(void *arg)
{
    (void)arg;
    must(localtime(&now) != 0); // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(localtime(&now) != 0); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
