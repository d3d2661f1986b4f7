// An error-checking mutex orders like a plain one.
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#define _GNU_SOURCE
#include "start.h"

int value;
pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

void *first(void *arg)
{
    (void)arg;
    must(pthread_mutex_lock(&lock) == 0);
    value = 1; // A
    must(pthread_mutex_unlock(&lock) == 0);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
