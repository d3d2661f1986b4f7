// epoll_wait that reports a pipe written by another thread, then its read.
// expect: clean
#include <sys/epoll.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
int ends[2];
int poller;

void *sender(void *arg)
{
    (void)arg;
    data = 1;
    must(write(ends[1], "x", 1) == 1);
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    struct epoll_event event;
    must(epoll_wait(poller, &event, 1, -1) == 1);
    must(event.data.fd == ends[0]);
    char byte;
    must(read(ends[0], &byte, 1) == 1);
    seen = data;
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    poller = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    event.data.fd = ends[0];
    must(epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event) == 0);
    both(sender, receiver);
    return 0;
}
