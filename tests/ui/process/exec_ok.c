// fork and exec, vfork and exec, posix_spawn and system start other programs unharmed.
// expect: clean
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "start.h"

extern char **environ;

int wait_for(pid_t child)
{
    int status;
    must(waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status);
}

int main(void)
{
    char *arguments[] = {"sh", "-c", "exit 4", 0};
    pid_t child = fork();
    if (child == 0) {
        execvp("sh", arguments);
        _exit(9);
    }
    must(wait_for(child) == 4);
    child = vfork();
    if (child == 0) {
        execvp("sh", arguments);
        _exit(9);
    }
    must(wait_for(child) == 4);
    must(posix_spawnp(&child, "sh", 0, 0, arguments, environ) == 0);
    must(wait_for(child) == 4);
    must(WEXITSTATUS(system("exit 5")) == 5);
    return 0;
}
