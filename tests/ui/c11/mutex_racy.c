// mtx_lock and mtx_unlock.
// tsan: skip its runtime does not know C11 threads
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#include <threads.h>
#include "hidden_barrier.h"

int value;
mtx_t lock;

int first(void *argument)
{
    (void)argument;
    mtx_lock(&lock);
    value = 1; // A
    mtx_unlock(&lock);
    hidden_pass();
    return 0;
}

int second(void *argument)
{
    (void)argument;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    mtx_init(&lock, mtx_plain);
    thrd_t one, two;
    thrd_create(&one, first, 0);
    thrd_create(&two, second, 0);
    thrd_join(one, 0);
    thrd_join(two, 0);
    mtx_destroy(&lock);
    return 0;
}
