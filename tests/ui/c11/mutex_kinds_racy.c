// Recursive, timed and try locks of C11.
// tsan: skip its runtime does not know C11 threads
// expect: data-race global=value op=write,write lines=A,B locks=1,0
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
    hidden_pass();
    hidden_reach(2);
    mtx_unlock(&lock);
    return 0;
}

int second(void *argument)
{
    (void)argument;
    hidden_reach(1);
    struct timespec deadline;
    timespec_get(&deadline, TIME_UTC);
    if (mtx_trylock(&lock) != thrd_busy || mtx_timedlock(&lock, &deadline) != thrd_timedout)
        abort();
    value = 2; // B
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
