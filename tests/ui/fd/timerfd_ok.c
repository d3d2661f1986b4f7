// Setting a timer comes before the reading of its expiration.
// expect: clean
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
int fd;

void *setter(void *arg)
{
    (void)arg;
    data = 1;
    struct itimerspec soon = {{0, 0}, {0, 1}};
    must(timerfd_settime(fd, 0, &soon, 0) == 0);
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    uint64_t count;
    must(read(fd, &count, sizeof count) == sizeof count);
    seen = data;
    return 0;
}

int main(void)
{
    fd = timerfd_create(CLOCK_MONOTONIC, 0);
    must(fd >= 0);
    both(setter, reader);
    close(fd);
    return 0;
}
