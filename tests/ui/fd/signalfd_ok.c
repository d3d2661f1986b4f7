// Sending a signal comes before its reading from a signalfd.
// expect: clean
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "start.h"

int data;
int seen;
int fd;

void *sender(void *arg)
{
    (void)arg;
    data = 1;
    must(kill(getpid(), SIGUSR1) == 0);
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    struct signalfd_siginfo info;
    must(read(fd, &info, sizeof info) == sizeof info);
    must(info.ssi_signo == SIGUSR1);
    seen = data;
    return 0;
}

int main(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    must(sigprocmask(SIG_BLOCK, &set, 0) == 0);
    fd = signalfd(-1, &set, 0);
    must(fd >= 0);
    both(sender, receiver);
    close(fd);
    return 0;
}
