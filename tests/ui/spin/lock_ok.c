// Spin locks order like mutexes.
// expect: clean
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
    pthread_spin_lock(&lock);
    value = 2; // B
    pthread_spin_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    both(first, second);
    pthread_spin_destroy(&lock);
    return 0;
}
