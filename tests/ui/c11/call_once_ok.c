// call_once orders the initialisation.
// expect: clean
// tsan: skip its runtime does not know C11 threads
#include <threads.h>
#include "hidden_barrier.h"

int table;
int seen;
once_flag flag = ONCE_FLAG_INIT;

void initialise(void)
{
    table = 5; // A
}

int first(void *argument)
{
    (void)argument;
    call_once(&flag, initialise);
    hidden_pass();
    return 0;
}

int second(void *argument)
{
    (void)argument;
    hidden_reach(1);
    call_once(&flag, initialise);
    seen = table; // B
    return 0;
}

int main(void)
{
    thrd_t one, two;
    thrd_create(&one, first, 0);
    thrd_create(&two, second, 0);
    thrd_join(one, 0);
    thrd_join(two, 0);
    return 0;
}
