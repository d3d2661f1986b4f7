// Each turn of a loop has a critical section, and somebody else has none.
// flags: -O2
// expect: data-race global=data op=write,write lines=A,B
#include "start.h"

#define N 1000
long data[N];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void add(long *to)
{
    for (long i = 0; i < N; i++) {
        pthread_mutex_lock(&lock);
        to[i]++; // A
        pthread_mutex_unlock(&lock);
    }
}

void *first(void *arg)
{
    (void)arg;
    add(data);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    data[N - 1] = 1; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
