// A thread cancelled in pthread_cond_wait holds the mutex again in its clean-up handler.
// expect: clean
#include "start.h"

int state;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;

void clean_up(void *argument)
{
    (void)argument;
    state = 2; // B
    pthread_mutex_unlock(&lock);
}

void *waiter(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean_up, 0);
    hidden_pass();
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return 0;
}

int main(void)
{
    pthread_t thread = start(waiter);
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    state = 1;
    pthread_mutex_unlock(&lock);
    pthread_cancel(thread);
    join(thread);
    return 0;
}
