// A library without instrumentation works, its locks are seen, and the report says that it was not watched.
// expect: clean
// plain-shared: plain_library.inc
// footer: libplain.so
#include "start.h"

int value;
void library_lock(void);
void library_unlock(void);

void *first(void *arg)
{
    (void)arg;
    library_lock();
    value = 1; // A
    library_unlock();
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    library_lock();
    value = 2; // B
    library_unlock();
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
