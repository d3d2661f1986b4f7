// Accesses to an object that a library guards, told by __tsan_external_*.
// expect: clean
#include "start.h"

void *__tsan_external_register_tag(const char *object_type);
void __tsan_external_assign_tag(void *address, void *tag);
void __tsan_external_read(void *address, void *caller_pc, void *tag);
void __tsan_external_write(void *address, void *caller_pc, void *tag);
void *tag;
long object[4];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    __tsan_external_write(object, __builtin_return_address(0), tag); // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    __tsan_external_read(object, __builtin_return_address(0), tag); // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    tag = __tsan_external_register_tag("Collection");
    __tsan_external_assign_tag(object, tag);
    both(first, second);
    return 0;
}
