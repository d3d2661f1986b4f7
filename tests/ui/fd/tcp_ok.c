// A message over a TCP connection on the loopback interface.
// expect: clean
// tsan: skip it gives the two ends of a connection no common clock
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
int listener;
struct sockaddr_in address;

void *server(void *arg)
{
    (void)arg;
    int peer = accept(listener, 0, 0);
    must(peer >= 0);
    char byte;
    must(recv(peer, &byte, 1, 0) == 1);
    seen = data;
    close(peer);
    return 0;
}

void *client(void *arg)
{
    (void)arg;
    int peer = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(peer, (struct sockaddr *)&address, sizeof address) == 0);
    data = 1;
    must(send(peer, "x", 1, 0) == 1);
    close(peer);
    return 0;
}

int main(void)
{
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    socklen_t length = sizeof address;
    must(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    must(listen(listener, 1) == 0);
    both(server, client);
    close(listener);
    return 0;
}
