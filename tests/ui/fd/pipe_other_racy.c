// A read of another pipe orders nothing.
// expect: data-race global=data op=write,read lines=A,B
#include <unistd.h>
#include "start.h"

int data;
int seen;
int ends[2], other[2];

void *sender(void *arg)
{
    (void)arg;
    data = 1; // A
    must(write(ends[1], "x", 1) == 1);
    hidden_pass();
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    hidden_reach(1);
    char byte;
    must(read(other[0], &byte, 1) == 1);
    seen = data; // B
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    must(pipe(other) == 0);
    must(write(other[1], "y", 1) == 1);
    both(sender, receiver);
    return 0;
}
