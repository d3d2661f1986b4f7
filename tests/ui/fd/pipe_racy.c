// A write to a pipe comes before the read that gets it; what follows the write does not.
// expect: data-race global=data op=write,read lines=A,B
#include <unistd.h>
#include "start.h"

int data;
int seen;
int ends[2];

void *sender(void *arg)
{
    (void)arg;
    must(write(ends[1], "x", 1) == 1);
    data = 1; // A
    hidden_pass();
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    char byte;
    must(read(ends[0], &byte, 1) == 1);
    hidden_reach(1);
    seen = data; // B
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    both(sender, receiver);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
