// Memory is copied by fork: parent and child do not race.
// expect: clean
#include <sys/wait.h>
#include <unistd.h>
#include "start.h"

int value;

void *other(void *arg)
{
    (void)arg;
    value = 1;
    hidden_pass();
    hidden_reach(2);
    return 0;
}

int main(void)
{
    pthread_t thread = start(other);
    hidden_reach(1);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status;
    must(waitpid(child, &status, 0) == child && status == 0);
    hidden_pass();
    join(thread);
    return value == 1 ? 0 : 3;
}
