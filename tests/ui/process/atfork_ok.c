// pthread_atfork handlers that take and release a lock around fork.
// expect: clean
// tsan: skip its child takes the threads of the parent for leaked
#include <sys/wait.h>
#include <unistd.h>
#include "start.h"

int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void before(void)
{
    pthread_mutex_lock(&lock);
}

void after(void)
{
    pthread_mutex_unlock(&lock);
}

void *worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&lock);
        value++;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(void)
{
    pthread_atfork(before, after, after);
    pthread_t thread = start(worker);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_mutex_lock(&lock);
            value = -1;
            pthread_mutex_unlock(&lock);
            _exit(0);
        }
        int status;
        must(waitpid(child, &status, 0) == child && status == 0);
    }
    join(thread);
    return value == 200 ? 0 : 3;
}
