// After thousands of threads that nobody waits for, what one of them did without a lock still races.
// expect: data-race global=mark op=write,read lines=A,B
#include <sched.h>
#include <stdatomic.h>
#include "start.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long value;
long mark;
atomic_long running;

void *brief(void *arg)
{
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    if (arg)
        mark = 1; // A
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
        must(pthread_create(&thread, 0, brief, i == 7 ? &lock : 0) == 0);
        must(pthread_detach(thread) == 0);
    }
    while (atomic_load_explicit(&running, memory_order_relaxed) > 0)
        sched_yield();
    return mark == 2; // B
}
