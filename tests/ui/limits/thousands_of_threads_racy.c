// Three thousand short threads one after the other; the race of the last one is found.
// expect: data-race global=value op=write,write lines=A,B
#include "start.h"

int value;
int done;

void *short_thread(void *arg)
{
    (void)arg;
    done++;
    return 0;
}

void *last(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    return 0;
}

void *other(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    for (int i = 0; i < 3000; i++)
        join(start(short_thread));
    both(last, other);
    return done == 3000 ? 0 : 3;
}
