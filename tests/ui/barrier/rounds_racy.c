// One barrier used for many rounds; without the second wait the rounds overlap.
// expect: data-race global=board op=read,write lines=B,A
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
        if (round == 0) {
            hidden_pass();
            hidden_reach(2);
        }
    }
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    for (int round = 0; round < 3; round++) {
        pthread_barrier_wait(&barrier);
        if (round == 0)
            hidden_reach(1);
        seen += board; // B
        if (round == 0)
            hidden_pass();
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
