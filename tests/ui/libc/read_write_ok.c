// read and write touch the caller's buffers.
// expect: clean
#include <unistd.h>
#include "start.h"

char outgoing[32] = "some bytes";
char incoming[32];
int ends[2];

void *first(void *arg)
{
    (void)arg;
    outgoing[12] = 1;
    incoming[12] = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(write(ends[1], outgoing, 10) == 10); // C
    must(read(ends[0], incoming, 32) == 10);  // D
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    both(first, second);
    return 0;
}
