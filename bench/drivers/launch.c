// Runs a program and writes what it cost to REPORT: user and system microseconds, peak KiB, wait status.
//
// The kernel keeps a process's peak memory across exec, so a child of a large process looks as large as that. This small
// program stands between the runner and the program, so that the peak is the program's own. SIGTERM is passed on to the
// program alone (a symbolizer beside it must live); SIGUSR1 kills the program.
//
// usage: launch REPORT PROGRAM ARGS...
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t child;

static void pass_on(int signal) {
    if (child > 0) kill(child, signal == SIGUSR1 ? SIGKILL : signal);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s REPORT PROGRAM ARGS...\n", argv[0]);
        return 127;
    }
    sigset_t both, before;
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGUSR1);
    sigprocmask(SIG_BLOCK, &both, &before);
    child = fork();
    if (child < 0) {
        perror("launch: fork");
        return 127;
    }
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    struct sigaction action = {.sa_handler = pass_on};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    int status = 0;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0)
        if (errno != EINTR) return 127;
    FILE *report = fopen(argv[1], "w");
    if (!report) return 127;
    fprintf(report, "%lld %lld %ld %d\n", usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec,
            usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec, usage.ru_maxrss, status);
    return fclose(report) == 0 ? 0 : 127;
}
