// The destructor of thread-specific data runs in the dying thread.
// expect: clean
#include "start.h"

int destroyed;
pthread_key_t key;

void destructor(void *value)
{
    (void)value;
    destroyed = 1; // A
    hidden_pass();
}

void *worker(void *arg)
{
    (void)arg;
    pthread_setspecific(key, &destroyed);
    return 0;
}

int main(void)
{
    pthread_key_create(&key, destructor);
    pthread_t thread = start(worker);
    join(thread);
    hidden_reach(1);
    int seen = destroyed; // B
    return seen == 1 ? 0 : 3;
}
