// Loops that touch the same place in some turns or in none: in each round anew, under a lock, and not if no turn comes to it.
// flags: -O2
// expect: clean
#include "start.h"

#define N 100
struct { long sum, never; } box;
volatile long many = N;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void add(long count)
{
    long i = 0;
    while (i < count) {
        if (i % 3 == 1)
            *(volatile long *)&box.sum += i;
        if (i > N)
            *(volatile long *)&box.never = i;
        i += many > 1 ? 1 : 2;
    }
}

void *first(void *arg)
{
    (void)arg;
    for (int round = 0; round < 3; round++) {
        pthread_mutex_lock(&lock);
        add(many);
        pthread_mutex_unlock(&lock);
    }
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    must(box.sum != 1);
    pthread_mutex_unlock(&lock);
    box.never = 1;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
