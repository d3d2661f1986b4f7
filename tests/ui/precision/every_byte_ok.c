// Eight threads, each with its own byte of one word.
// expect: clean
#include "start.h"

char bytes[8];

void *worker(void *argument)
{
    int index = (int)(long)argument;
    for (int i = 0; i < 1000; i++)
        bytes[index]++;
    hidden_meet(8);
    return 0;
}

int main(void)
{
    pthread_t threads[8];
    for (long i = 0; i < 8; i++)
        must(pthread_create(&threads[i], 0, worker, (void *)i) == 0);
    for (int i = 0; i < 8; i++)
        join(threads[i]);
    return 0;
}
