// asctime, ctime, gmtime: more answers in static buffers.
// tsan: skip its runtime does not know these static buffers
// expect: data-race lines=A,C
// expect: data-race lines=B,D
#include <time.h>
#include "start.h"

time_t now = 1000000;
struct tm parts;

void *first(void *arg)
{
    (void)arg;
    must(gmtime(&now) != 0);    // A
    must(asctime(&parts) != 0); // B
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(gmtime(&now) != 0);    // C
    must(asctime(&parts) != 0); // D
    return 0;
}

int main(void)
{
    parts.tm_mday = 1;
    both(first, second);
    return 0;
}
