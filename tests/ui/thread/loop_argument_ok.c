// The classic: the address of the loop variable as the thread's argument.
// expect: clean
#include "start.h"

int got[2];

void *worker(void *argument)
{
    int index = *(int *)argument; // A
    got[index & 1] = 1;
    hidden_pass();
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    int indexes[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        must(pthread_create(&threads[i], 0, worker, &indexes[i]) == 0);
    join(threads[0]);
    join(threads[1]);
    return 0;
}
