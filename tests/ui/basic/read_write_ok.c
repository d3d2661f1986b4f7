// A read, then a write that nothing orders after it.
// expect: clean
#include "start.h"

long value;
long seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *reader(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    seen = value; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *writer(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    value = 2; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(reader, writer);
    return 0;
}
