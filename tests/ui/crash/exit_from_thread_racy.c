// exit called by a thread while main waits for it.
// expect: data-race global=value op=write,write lines=A,B
// options: thread-leaks=off
// tsan: skip it also reports the thread that exits as leaked
#include "start.h"

int value;

void *first(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    hidden_reach(2);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    exit(0);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
