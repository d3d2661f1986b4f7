// The stack of a thread that ended is given to the next thread: no race between the two.
// expect: clean
#include "start.h"

__attribute__((noinline)) void use_stack(char fill)
{
    volatile char bytes[2000];
    for (int i = 0; i < 2000; i++)
        bytes[i] = fill;
}

void *worker(void *arg)
{
    (void)arg;
    use_stack(1);
    hidden_pass();
    return 0;
}

int main(void)
{
    for (int i = 0; i < 40; i++) {
        pthread_detach(start(worker));
        hidden_reach(i + 1);
    }
    return 0;
}
