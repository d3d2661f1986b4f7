// thrd_create and thrd_join.
// tsan: skip its runtime does not know C11 threads
// expect: data-race global=result op=write,read lines=A,B
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
    hidden_reach(1);
    int seen = result; // B
    thrd_join(thread, &status);
    return seen == 42 && status == 7 ? 0 : 3;
}
