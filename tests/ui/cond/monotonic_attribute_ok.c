// A condition with another clock in its attributes, and a bounded queue on top of it.
// expect: clean
#include <time.h>
#include "start.h"

int queue[4];
int used, put_at, take_at;
long sum;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed;

void *producer(void *arg)
{
    (void)arg;
    for (int i = 1; i <= 200; i++) {
        pthread_mutex_lock(&lock);
        while (used == 4)
            pthread_cond_wait(&changed, &lock);
        queue[put_at++ & 3] = i;
        used++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

void *consumer(void *arg)
{
    (void)arg;
    for (int i = 1; i <= 200; i++) {
        struct timespec deadline;
        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += 60;
        pthread_mutex_lock(&lock);
        while (used == 0)
            must(pthread_cond_timedwait(&changed, &lock, &deadline) == 0);
        sum += queue[take_at++ & 3];
        used--;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    both(producer, consumer);
    pthread_cond_destroy(&changed);
    return sum == 20100 ? 0 : 3;
}
