// Recursive, timed and try locks of C11.
// expect: clean
// tsan: skip its runtime does not know C11 threads
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include "hidden_barrier.h"

int value;
mtx_t lock;

int first(void *argument)
{
    (void)argument;
    mtx_lock(&lock);
    mtx_lock(&lock);
    mtx_unlock(&lock);
    value = 1; // A
    mtx_unlock(&lock);
    hidden_pass();
    return 0;
}

int second(void *argument)
{
    (void)argument;
    hidden_reach(1);
    struct timespec deadline;
    timespec_get(&deadline, TIME_UTC);
    deadline.tv_sec += 60;
    if (mtx_trylock(&lock) != thrd_success || mtx_timedlock(&lock, &deadline) != thrd_success)
        abort();
    value = 2; // B
    mtx_unlock(&lock);
    mtx_unlock(&lock);
    hidden_pass();
    return 0;
}

int main(void)
{
    mtx_init(&lock, mtx_timed | mtx_recursive);
    thrd_t one, two;
    thrd_create(&one, first, 0);
    thrd_create(&two, second, 0);
    thrd_join(one, 0);
    thrd_join(two, 0);
    mtx_destroy(&lock);
    return 0;
}
