// Thousands of threads that nobody waits for, each with a lock and a counter: their clocks are used again, and nothing is
// invented.
// expect: clean
#include <sched.h>
#include <stdatomic.h>
#include "start.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long value;
atomic_long running;

void *brief(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
    return 0;
}

int main(void)
{
    for (int i = 0; i < 3000; i++) {
        pthread_t thread;
        while (atomic_load_explicit(&running, memory_order_relaxed) > 20)
            sched_yield();
        atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
        must(pthread_create(&thread, 0, brief, 0) == 0);
        must(pthread_detach(thread) == 0);
    }
    while (atomic_load_explicit(&running, memory_order_relaxed) > 0)
        sched_yield();
    pthread_mutex_lock(&lock);
    must(value == 3000);
    pthread_mutex_unlock(&lock);
    return 0;
}
