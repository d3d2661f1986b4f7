// Two locks for one variable protect nothing; the report shows which lock each side held.
// expect: data-race global=balance op=write,write lines=A,B locks=1,1
// golden: clang
#include "start.h"

int balance;
pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;

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
    pthread_mutex_lock(&second_lock);
    balance = 2; // B
    pthread_mutex_unlock(&second_lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
