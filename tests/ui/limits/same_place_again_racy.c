// Two threads that write one place in turns a hundred thousand times: one finding.
// expect: data-race global=value op=write,write lines=A,A
#include "start.h"

int value;

void *worker(void *arg)
{
    (void)arg;
    hidden_meet(2);
    for (int i = 0; i < 100000; i++) {
        value = i; // A
        __asm__ volatile("" : : : "memory");
    }
    return 0;
}

int main(void)
{
    both(worker, worker);
    return 0;
}
