// Spin locks order like mutexes.
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#include "start.h"

int value;
pthread_spinlock_t lock;

void *first(void *arg)
{
    (void)arg;
    pthread_spin_lock(&lock);
    value = 1; // A
    pthread_spin_unlock(&lock);
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
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    both(first, second);
    pthread_spin_destroy(&lock);
    return 0;
}
