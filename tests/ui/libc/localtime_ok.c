// localtime answers in a static buffer; localtime_r in the caller's.
// expect: clean
#include <time.h>
#include "start.h"

time_t now = 1000000;

void *first(void *arg)
{
    (void)arg;
    struct tm mine;
    must(localtime_r(&now, &mine) != 0);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    struct tm mine;
    must(localtime_r(&now, &mine) != 0);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
