// thrd_detach: no leak, no order.
// tsan: skip its runtime does not know C11 threads
// expect: data-race global=result op=write,read lines=A,B
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
    return result == 42 ? 0 : 3; // B
}
