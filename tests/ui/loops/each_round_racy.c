// A loop inside a loop that takes a lock: the place is told in each round, also in the one after the lock was released.
// flags: -O2
// expect: data-race global=box op=write,read lines=A,B
#include "start.h"

#define N 100
long box;
volatile long many = N;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void rounds(long count)
{
    for (int round = 0; round < 3; round++) {
        pthread_mutex_lock(&lock);
        if (round < 2)
            for (long i = 0; i < count; i += many > 1 ? 1 : 2)
                *(volatile long *)&box += i;
        pthread_mutex_unlock(&lock);
        for (long i = 0; i < count; i += many > 1 ? 1 : 2)
            if (round == 2 && i > 5)
                *(volatile long *)&box += i; // A
    }
}

void *first(void *arg)
{
    (void)arg;
    rounds(many);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    must(box != 1); // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
