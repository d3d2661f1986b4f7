// _exit skips all handlers, not the report.
// expect: data-race global=value op=write,write lines=A,B
#include <unistd.h>
#include "start.h"

int value;

void *first(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    _exit(0);
}
