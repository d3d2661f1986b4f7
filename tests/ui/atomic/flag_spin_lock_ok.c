// atomic_flag as a lock; the racy one clears it relaxed.
// expect: clean
#include <stdatomic.h>
#include "start.h"

int value;
atomic_flag flag = ATOMIC_FLAG_INIT;

void *worker(void *arg)
{
    (void)arg;
    while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
        ;
    value = 1; // A
    atomic_flag_clear_explicit(&flag, memory_order_release);
    return 0;
}

int main(void)
{
    both(worker, worker);
    return 0;
}
