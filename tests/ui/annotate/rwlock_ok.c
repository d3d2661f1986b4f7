// A readers-writer lock of the program's own making, told by AnnotateRWLock*.
// expect: clean
#include "start.h"

void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockDestroy(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long is_write);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long is_write);
int value;
int own_lock;
#define MODE 1

void *first(void *arg)
{
    (void)arg;
    AnnotateRWLockAcquired(__FILE__, __LINE__, &own_lock, MODE);
    value = 1; // A
    AnnotateRWLockReleased(__FILE__, __LINE__, &own_lock, MODE);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &own_lock, MODE);
    value = 2; // B
    AnnotateRWLockReleased(__FILE__, __LINE__, &own_lock, MODE);
    return 0;
}

int main(void)
{
    AnnotateRWLockCreate(__FILE__, __LINE__, &own_lock);
    both(first, second);
    AnnotateRWLockDestroy(__FILE__, __LINE__, &own_lock);
    return 0;
}
