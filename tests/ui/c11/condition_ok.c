// cnd_wait, cnd_timedwait, cnd_signal and cnd_broadcast.
// expect: clean
// tsan: skip its runtime does not know C11 threads
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include "hidden_barrier.h"

int ready;
int data;
int seen;
mtx_t lock;
cnd_t changed;

int producer(void *argument)
{
    (void)argument;
    mtx_lock(&lock);
    ready = 1;
    data = 42;
    cnd_broadcast(&changed);
    mtx_unlock(&lock);
    hidden_pass();
    cnd_signal(&changed);
    return 0;
}

int consumer(void *argument)
{
    (void)argument;
    struct timespec past;
    timespec_get(&past, TIME_UTC);
    mtx_lock(&lock);
    if (cnd_timedwait(&changed, &lock, &past) == thrd_error)
        abort();
    while (!ready)
        cnd_wait(&changed, &lock);
    seen = data; // B
    mtx_unlock(&lock);
    return 0;
}

int main(void)
{
    mtx_init(&lock, mtx_timed);
    cnd_init(&changed);
    thrd_t one, two;
    thrd_create(&one, producer, 0);
    thrd_create(&two, consumer, 0);
    thrd_join(one, 0);
    thrd_join(two, 0);
    cnd_destroy(&changed);
    mtx_destroy(&lock);
    return 0;
}
