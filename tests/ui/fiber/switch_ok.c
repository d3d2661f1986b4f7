// Two fibers on one thread: a switch orders, so they share data freely.
// expect: clean
#include <ucontext.h>
#include <sanitizer/tsan_interface.h>
#include "start.h"

int shared;
ucontext_t main_context, fiber_context;
void *main_fiber, *other_fiber;
char stack[256 * 1024];

void fiber(void)
{
    for (;;) {
        shared++;
        __tsan_switch_to_fiber(main_fiber, 0);
        swapcontext(&fiber_context, &main_context);
    }
}

int main(void)
{
    main_fiber = __tsan_get_current_fiber();
    other_fiber = __tsan_create_fiber(0);
    __tsan_set_fiber_name(other_fiber, "cooperative");
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = sizeof stack;
    makecontext(&fiber_context, fiber, 0);
    for (int i = 0; i < 10; i++) {
        shared++;
        __tsan_switch_to_fiber(other_fiber, 0);
        swapcontext(&main_context, &fiber_context);
    }
    __tsan_destroy_fiber(other_fiber);
    return shared == 20 ? 0 : 3;
}
