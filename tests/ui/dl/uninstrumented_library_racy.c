// A library without instrumentation works, its locks are seen, and the report says that it was not watched.
// plain-shared: plain_library.inc
// footer: libplain.so
// expect: data-race global=value op=write,write lines=A,B
#include "start.h"

int value;
void library_lock(void);
void library_unlock(void);

void *first(void *arg)
{
    (void)arg;
    library_lock();
    library_unlock();
    value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    library_lock();
    library_unlock();
    value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
