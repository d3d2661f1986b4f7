// A join by one thread orders only that thread.
// expect: clean
#include "start.h"

int data;
pthread_t producer_thread;

void *producer(void *arg)
{
    (void)arg;
    data = 1; // A
    return 0;
}

void *joiner(void *arg)
{
    (void)arg;
    join(producer_thread);
    hidden_pass();
    return 0;
}

int main(void)
{
    producer_thread = start(producer);
    pthread_t other = start(joiner);
    join(other);
    hidden_reach(1);
    int seen = data; // B
    return seen == 1 ? 0 : 3;
}
