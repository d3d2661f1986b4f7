// The classic: the address of the loop variable as the thread's argument.
// expect: data-race stack=index op=read,write lines=A,B
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
    int index = 0;
    must(pthread_create(&threads[0], 0, worker, &index) == 0);
    hidden_reach(1);
    index = 1; // B
    must(pthread_create(&threads[1], 0, worker, &index) == 0);
    join(threads[0]);
    join(threads[1]);
    return 0;
}
