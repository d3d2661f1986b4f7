// A duplicate that fcntl makes is the same pipe, too.
// expect: clean
#include <fcntl.h>
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
    copy = fcntl(ends[1], F_DUPFD_CLOEXEC, 100);
    both(sender, receiver);
    return 0;
}
