// A message over a socket pair, by sendmsg and recvmsg.
// expect: data-race global=data op=write,read lines=A,B
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "start.h"

int data;
int seen;
int ends[2];

void *sender(void *arg)
{
    (void)arg;
    char byte = 'x';
    struct iovec piece = {&byte, 1};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    must(sendmsg(ends[1], &message, 0) == 1);
    data = 1; // A
    hidden_pass();
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    char byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    must(recvmsg(ends[0], &message, 0) == 1);
    hidden_reach(1);
    seen = data; // B
    return 0;
}

int main(void)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    both(sender, receiver);
    return 0;
}
