// What is written after a signal was sent is not ordered by its reading from a signalfd; nor does another signal order.
// expect: data-race global=data op=read,write lines=B,A
// expect: data-race global=other op=read,write lines=D,C
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "start.h"

int data;
int other;
int seen;
int seen_too;
int fd;

void *sender(void *arg)
{
    (void)arg;
    must(kill(getpid(), SIGUSR1) == 0);
    data = 1; // A
    other = 1; // C
    must(kill(getpid(), SIGUSR2) == 0);
    hidden_pass();
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    struct signalfd_siginfo info;
    hidden_reach(1);
    must(read(fd, &info, sizeof info) == sizeof info);
    must(info.ssi_signo == SIGUSR1);
    seen = data; // B
    seen_too = other; // D
    return 0;
}

int main(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    must(sigprocmask(SIG_BLOCK, &set, 0) == 0);
    fd = signalfd(-1, &set, 0);
    must(fd >= 0);
    both(sender, receiver);
    struct signalfd_siginfo info;
    must(read(fd, &info, sizeof info) == sizeof info);
    close(fd);
    return 0;
}
