// Two hundred locks held at once, and all of them in the report.
// expect: clean
// tsan: skip it holds at most 128 locks
#include "start.h"

#define COUNT 200
int value;
pthread_mutex_t locks[COUNT];

void *collector(void *arg)
{
    (void)arg;
    for (int i = 0; i < COUNT; i++)
        pthread_mutex_lock(&locks[i]);
    value = 1; // A
    for (int i = COUNT - 1; i >= 0; i--)
        pthread_mutex_unlock(&locks[i]);
    hidden_pass();
    return 0;
}

void *other(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&locks[133]);
    value = 2; // B
    pthread_mutex_unlock(&locks[133]);
    return 0;
}

int main(void)
{
    for (int i = 0; i < COUNT; i++)
        pthread_mutex_init(&locks[i], 0);
    both(collector, other);
    return 0;
}
