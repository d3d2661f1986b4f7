// read and write touch the caller's buffers.
// expect: data-race global=outgoing op=write,read lines=A,C
// expect: data-race global=incoming op=write,write lines=B,D
#include <unistd.h>
#include "start.h"

char outgoing[32] = "some bytes";
char incoming[32];
int ends[2];

void *first(void *arg)
{
    (void)arg;
    outgoing[3] = 'e'; // A
    incoming[4] = 1;   // B
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
