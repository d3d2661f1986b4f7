// A field of a global struct.
// expect: clean
#include "start.h"

struct {
    int first;
    long second;
    char third[20];
} settings;
long seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    settings.second = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    seen = settings.second; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
