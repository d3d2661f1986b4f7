// Two locks for one variable protect nothing; the report shows which lock each side held.
// expect: clean
#include "start.h"

int balance;
pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first_lock);
    balance = 1; // A
    pthread_mutex_unlock(&first_lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&first_lock);
    balance = 2; // B
    pthread_mutex_unlock(&first_lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
