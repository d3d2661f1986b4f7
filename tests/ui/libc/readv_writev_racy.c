// readv and writev touch each piece.
// expect: data-race global=incoming op=read,write lines=A,B
#include <sys/uio.h>
#include <unistd.h>
#include "start.h"

char outgoing[10] = "0123456789";
char incoming[2][8];
char seen;
int ends[2];

void *first(void *arg)
{
    (void)arg;
    seen = incoming[1][3]; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    struct iovec from[2] = {{outgoing, 4}, {outgoing + 4, 6}};
    must(writev(ends[1], from, 2) == 10);
    struct iovec to[2] = {{incoming[0], 5}, {incoming[1], 5}};
    must(readv(ends[0], to, 2) == 10); // B
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    both(first, second);
    return 0;
}
