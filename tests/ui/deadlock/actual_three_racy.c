// Three threads in a circle.
// expect: deadlock lines=A,A,A cycle=3
// tsan: skip it would hang
#include "start.h"

pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

void *philosopher(void *argument)
{
    long place = (long)argument;
    pthread_mutex_lock(&locks[place]);
    hidden_meet(3);
    pthread_mutex_lock(&locks[(place + 1) % 3]); // A
    pthread_mutex_unlock(&locks[(place + 1) % 3]);
    pthread_mutex_unlock(&locks[place]);
    return 0;
}

int main(void)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        must(pthread_create(&threads[i], 0, philosopher, (void *)i) == 0);
    for (int i = 0; i < 3; i++)
        join(threads[i]);
    return 0;
}
