// A spin try-lock that answers EBUSY holds nothing.
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#include <errno.h>
#include "start.h"

int value;
pthread_spinlock_t lock;

void *owner(void *arg)
{
    (void)arg;
    pthread_spin_lock(&lock);
    value = 1; // A
    hidden_pass();
    hidden_reach(2);
    pthread_spin_unlock(&lock);
    return 0;
}

void *visitor(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(pthread_spin_trylock(&lock) == EBUSY);
    value = 2; // B
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
