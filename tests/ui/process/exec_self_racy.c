// A program that runs itself anew: the second life is watched too.
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

int main(int count, char **arguments)
{
    (void)arguments;
    if (count == 1) {
        execl("/proc/self/exe", "again", "again", (char *)0);
        return 9;
    }
    both(first, second);
    return 0;
}
