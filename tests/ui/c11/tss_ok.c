// The destructor of a tss key runs before thrd_join returns.
// expect: clean
// tsan: skip its runtime does not know C11 threads
#include <threads.h>
#include "hidden_barrier.h"

int destroyed;
tss_t key;

void destructor(void *value)
{
    (void)value;
    destroyed = 1; // A
    hidden_pass();
}

int worker(void *argument)
{
    (void)argument;
    tss_set(key, &destroyed);
    thrd_exit(0);
}

int main(void)
{
    tss_create(&key, destructor);
    thrd_t thread;
    thrd_create(&thread, worker, 0);
    thrd_join(thread, 0);
    hidden_reach(1);
    int seen = destroyed; // B
    tss_delete(key);
    return seen == 1 ? 0 : 3;
}
