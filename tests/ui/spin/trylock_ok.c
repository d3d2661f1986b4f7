// A spin try-lock that answers EBUSY holds nothing.
// expect: clean
#include <errno.h>
#include "start.h"

int value;
pthread_spinlock_t lock;

void *owner(void *arg)
{
    (void)arg;
    pthread_spin_lock(&lock);
    value = 1; // A
    pthread_spin_unlock(&lock);
    hidden_pass();
    return 0;
}

void *visitor(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(pthread_spin_trylock(&lock) == 0);
    value = 2; // B
    pthread_spin_unlock(&lock);
    hidden_pass();
    return 0;
}

int main(void)
{
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    both(owner, visitor);
    pthread_spin_destroy(&lock);
    return 0;
}
