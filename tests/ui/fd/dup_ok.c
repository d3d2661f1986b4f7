// A duplicate of a descriptor is the same pipe.
// expect: clean
#include <unistd.h>
#include "start.h"

int data;
int seen;
int ends[2];
int copy;

void *sender(void *arg)
{
    (void)arg;
    data = 1;
    must(write(copy, "x", 1) == 1);
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    char byte;
    must(read(ends[0], &byte, 1) == 1);
    seen = data;
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    copy = dup(ends[1]);
    both(sender, receiver);
    return 0;
}
