// A write, then a read that nothing orders after it.
// expect: clean
#include "start.h"

int value;
int seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *writer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 7; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    seen = value; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
