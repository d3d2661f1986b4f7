// A switch that is told not to order leaves the fibers concurrent.
// expect: data-race global=shared op=write,write lines=A,B
#include <ucontext.h>
#include <sanitizer/tsan_interface.h>
#include "start.h"

int shared;
ucontext_t main_context, fiber_context;
void *main_fiber, *other_fiber;
char stack[256 * 1024];

void fiber(void)
{
    shared = 2; // B
    __tsan_switch_to_fiber(main_fiber, __tsan_switch_to_fiber_no_sync);
    swapcontext(&fiber_context, &main_context);
}

int main(void)
{
    main_fiber = __tsan_get_current_fiber();
    other_fiber = __tsan_create_fiber(0);
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = sizeof stack;
    makecontext(&fiber_context, fiber, 0);
    shared = 1; // A
    __tsan_switch_to_fiber(other_fiber, __tsan_switch_to_fiber_no_sync);
    swapcontext(&main_context, &fiber_context);
    __tsan_destroy_fiber(other_fiber);
    return 0;
}
