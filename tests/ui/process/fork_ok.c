// The child of a fork is watched as well.
// expect: clean
#include <sys/wait.h>
#include <unistd.h>
#include "start.h"

int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    value = 2; // B
    pthread_mutex_unlock(&lock);
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
