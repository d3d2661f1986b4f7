// A process-shared mutex in shared memory, locked by parent and child.
// expect: clean
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "start.h"

struct shared {
    pthread_mutex_t lock;
    int value;
};

int main(void)
{
    struct shared *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(shared != MAP_FAILED);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attributes);
    pid_t child = fork();
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&shared->lock);
        shared->value++;
        pthread_mutex_unlock(&shared->lock);
    }
    if (child == 0)
        _exit(0);
    int status;
    must(waitpid(child, &status, 0) == child && status == 0);
    return shared->value == 2000 ? 0 : 3;
}
