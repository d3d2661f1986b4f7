// A fiber that starts on one thread and goes on on another.
// expect: clean
#include <ucontext.h>
#include <sanitizer/tsan_interface.h>
#include "start.h"

int progress;
ucontext_t home, fiber_context;
void *fiber_handle;
void *home_handle;
char stack[256 * 1024];

void fiber(void)
{
    for (;;) {
        progress++;
        __tsan_switch_to_fiber(home_handle, 0);
        swapcontext(&fiber_context, &home);
    }
}

__attribute__((noinline)) void step(void)
{
    home_handle = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber_handle, 0);
    swapcontext(&home, &fiber_context);
}

void *worker(void *arg)
{
    (void)arg;
    step();
    return 0;
}

int main(void)
{
    fiber_handle = __tsan_create_fiber(0);
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = sizeof stack;
    makecontext(&fiber_context, fiber, 0);
    step();
    join(start(worker));
    join(start(worker));
    __tsan_destroy_fiber(fiber_handle);
    return progress == 3 ? 0 : 3;
}
