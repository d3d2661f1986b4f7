// The forking thread's copy of the other thread's write is still not ordered with it.
// expect: data-race global=value op=write,read lines=A,B
// tsan: skip its child drops what the parent's threads did
#include <sys/wait.h>
#include <unistd.h>
#include "start.h"

int value;

void *other(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    hidden_reach(2);
    return 0;
}

int main(void)
{
    pthread_t thread = start(other);
    hidden_reach(1);
    int seen = value; // B
    pid_t child = fork();
    if (child == 0)
        _exit(seen);
    int status;
    must(waitpid(child, &status, 0) == child);
    hidden_pass();
    join(thread);
    return 0;
}
