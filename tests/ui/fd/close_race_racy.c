// A descriptor closed by one thread while another writes to it.
// expect: data-race memory=fd lines=A,B
#include <unistd.h>
#include "start.h"

int ends[2];

void *first(void *arg)
{
    (void)arg;
    must(write(ends[1], "x", 1) == 1); // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    close(ends[1]); // B
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    both(first, second);
    close(ends[0]);
    return 0;
}
