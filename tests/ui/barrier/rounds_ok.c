// One barrier used for many rounds; without the second wait the rounds overlap.
// expect: clean
#include "start.h"

int board;
int seen;
pthread_barrier_t barrier;

void *writer(void *arg)
{
    (void)arg;
    for (int round = 0; round < 3; round++) {
        board = round; // A
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    for (int round = 0; round < 3; round++) {
        pthread_barrier_wait(&barrier);
        seen += board; // B
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

int main(void)
{
    pthread_barrier_init(&barrier, 0, 2);
    both(writer, reader);
    pthread_barrier_destroy(&barrier);
    return 0;
}
