// thrd_create and thrd_join.
// expect: clean
// tsan: skip its runtime does not know C11 threads
#include <threads.h>
#include "hidden_barrier.h"

int result;

int worker(void *argument)
{
    (void)argument;
    result = 42; // A
    hidden_pass();
    return 7;
}

int main(void)
{
    thrd_t thread;
    thrd_create(&thread, worker, 0);
    int status = 7;
    thrd_join(thread, &status);
    hidden_reach(1);
    int seen = result; // B
    return seen == 42 && status == 7 ? 0 : 3;
}
