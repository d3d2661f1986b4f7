// A barrier orders everything before it with everything after it, and nothing on one side.
// expect: data-race global=cells op=write,read lines=A,B
#include "start.h"

int cells[2];
int seen[2];
pthread_barrier_t barrier;

void *left(void *arg)
{
    (void)arg;
    cells[0] = 1; // A
    hidden_pass();
    pthread_barrier_wait(&barrier);
    seen[0] = cells[1];
    return 0;
}

void *right(void *arg)
{
    (void)arg;
    cells[1] = 1;
    hidden_reach(1);
    seen[1] = cells[0]; // B
    pthread_barrier_wait(&barrier);
    return 0;
}

int main(void)
{
    pthread_barrier_init(&barrier, 0, 2);
    both(left, right);
    pthread_barrier_destroy(&barrier);
    return 0;
}
