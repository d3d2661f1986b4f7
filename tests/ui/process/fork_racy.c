// The child of a fork is watched as well.
// expect: data-race global=value op=write,write lines=A,B
#include <sys/wait.h>
#include <unistd.h>
#include "start.h"

int value;

void *first(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        both(first, second);
        exit(0);
    }
    int status;
    must(waitpid(child, &status, 0) == child);
    return 0;
}
