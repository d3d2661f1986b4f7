// eventfd: a write comes before the read.
// expect: clean
// tsan: skip its runtime does not know eventfd_write
#include <sys/eventfd.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
int event;

void *sender(void *arg)
{
    (void)arg;
    data = 1;
    must(eventfd_write(event, 1) == 0);
    hidden_pass();
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    eventfd_t value;
    must(eventfd_read(event, &value) == 0);
    hidden_reach(1);
    seen = data; // B
    return 0;
}

int main(void)
{
    event = eventfd(0, 0);
    must(event >= 0);
    both(sender, receiver);
    close(event);
    return 0;
}
