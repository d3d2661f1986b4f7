// A thread created detached is no leak, and is ordered like any other.
// expect: data-race global=result op=write,read lines=A,B
#include "start.h"

int result;

void *worker(void *arg)
{
    (void)arg;
    result = 42; // A
    hidden_pass();
    return 0;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    must(pthread_create(&thread, &attributes, worker, 0) == 0);
    pthread_attr_destroy(&attributes);
    hidden_reach(1);
    int seen = result; // B
    return seen == 42 ? 0 : 3;
}
