// eventfd through plain write and read.
// expect: clean
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
int event;

void *sender(void *arg)
{
    (void)arg;
    uint64_t one = 1;
    data = 1;
    must(write(event, &one, 8) == 8);
    hidden_pass();
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    uint64_t value;
    must(read(event, &value, 8) == 8);
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
