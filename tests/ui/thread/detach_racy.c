// A detached thread is ordered by what it signals, not by its end.
// expect: data-race global=result op=write,read lines=A,B
#include <semaphore.h>
#include "start.h"

int result;
sem_t done;

void *worker(void *arg)
{
    (void)arg;
    result = 42; // A
    sem_post(&done);
    hidden_pass();
    return 0;
}

int main(void)
{
    sem_init(&done, 0, 0);
    pthread_t thread = start(worker);
    pthread_detach(thread);
    hidden_reach(1);
    return result == 42 ? 0 : 3; // B
}
