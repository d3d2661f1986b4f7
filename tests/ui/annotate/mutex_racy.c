// A lock of the program's own making, told by __tsan_mutex_*.
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#include <sanitizer/tsan_interface.h>
#include "start.h"

int value;
int own_lock;

__attribute__((noinline)) void acquire(void)
{
    __tsan_mutex_pre_lock(&own_lock, 0);
    __tsan_mutex_post_lock(&own_lock, 0, 0);
}

__attribute__((noinline)) void release(void)
{
    __tsan_mutex_pre_unlock(&own_lock, 0);
    __tsan_mutex_post_unlock(&own_lock, 0);
}

void *first(void *arg)
{
    (void)arg;
    acquire();
    value = 1; // A
    release();
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    __tsan_mutex_create(&own_lock, __tsan_mutex_not_static);
    both(first, second);
    __tsan_mutex_destroy(&own_lock, 0);
    return 0;
}
