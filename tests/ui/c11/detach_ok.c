// thrd_detach: no leak, no order.
// expect: clean
// tsan: skip its runtime does not know C11 threads
#include <stdatomic.h>
#include <threads.h>
#include "hidden_barrier.h"

int result;
atomic_int done;

int worker(void *argument)
{
    (void)argument;
    result = 42; // A
    atomic_store(&done, 1);
    hidden_pass();
    return 0;
}

int main(void)
{
    thrd_t thread;
    thrd_create(&thread, worker, 0);
    thrd_detach(thread);
    hidden_reach(1);
    while (!atomic_load(&done))
        thrd_yield();
    return result == 42 ? 0 : 3; // B
}
