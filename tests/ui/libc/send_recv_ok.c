// send and recv touch the caller's buffers.
// expect: clean
#include <sys/socket.h>
#include "start.h"

char outgoing[32] = "some bytes";
char incoming[32];
int ends[2];

void *first(void *arg)
{
    (void)arg;
    outgoing[12] = 1;
    incoming[12] = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(send(ends[1], outgoing, 10, 0) == 10); // C
    must(recv(ends[0], incoming, 32, 0) == 10); // D
    return 0;
}

int main(void)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    both(first, second);
    return 0;
}
