// eventfd: a write comes before the read.
// expect: data-race global=data op=write,read lines=A,B
#include <sys/eventfd.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
int event;

void *sender(void *arg)
{
    (void)arg;
    must(eventfd_write(event, 1) == 0);
    data = 1; // A
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
