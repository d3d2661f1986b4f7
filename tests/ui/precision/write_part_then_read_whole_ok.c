// Two threads wrote different halves; a reader of the whole races with the half it is not ordered with.
// expect: clean
#include "start.h"

union {
    int half[2];
    long whole;
} word;
long seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *low(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    word.half[0] = 1;
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *high(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    word.half[1] = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(2);
    pthread_mutex_lock(&lock);
    seen = word.whole; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    three(low, high, reader);
    return 0;
}
