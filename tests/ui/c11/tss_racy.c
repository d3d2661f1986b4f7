// The destructor of a tss key runs before thrd_join returns.
// tsan: skip its runtime does not know C11 threads
// expect: data-race global=destroyed op=write,read lines=A,B
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
    hidden_reach(1);
    int seen = destroyed; // B
    thrd_join(thread, 0);
    tss_delete(key);
    return seen == 1 ? 0 : 3;
}
