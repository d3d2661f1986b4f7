// popen and its pipe.
// expect: clean
#include <stdio.h>
#include <string.h>
#include "start.h"

void *worker(void *arg)
{
    (void)arg;
    FILE *pipe = popen("echo hello", "r");
    char line[32];
    must(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "hello\n") == 0);
    pclose(pipe);
    return 0;
}

int main(void)
{
    both(worker, worker);
    return 0;
}
