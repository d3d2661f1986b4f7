// A read unlock of a lock held for writing.
// expect: rwlock-mismatch lines=A
#include "start.h"

void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long is_write);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long is_write);
int own_lock;

int main(void)
{
    AnnotateRWLockCreate(__FILE__, __LINE__, &own_lock);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &own_lock, 1);
    AnnotateRWLockReleased(__FILE__, __LINE__, &own_lock, 0); // A
    return 0;
}
