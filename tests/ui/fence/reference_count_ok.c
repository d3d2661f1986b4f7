// The last owner's acquire fence, as in Arc and shared pointers; without it the free races with earlier uses.
// expect: clean
// tsan: skip it does not model fences
#include <stdatomic.h>
#include "start.h"

struct { atomic_int count; int *block; } object;
int seen[2];

__attribute__((noinline)) void drop(void)
{
    if (atomic_fetch_sub_explicit(&object.count, 1, memory_order_release) == 1) {
        atomic_thread_fence(memory_order_acquire);
        free(object.block); // B
    }
}

void *first(void *arg)
{
    (void)arg;
    seen[0] = *object.block; // A
    drop();
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    drop();
    return 0;
}

int main(void)
{
    object.block = malloc(sizeof(int));
    *object.block = 3;
    atomic_store(&object.count, 2);
    both(first, second);
    return 0;
}
