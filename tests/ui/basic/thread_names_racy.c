// The report names the threads as the program does.
// expect: data-race global=shared op=write,write lines=A,B threads=alpha,beta
// golden: gcc
#define _GNU_SOURCE
#include "start.h"

int shared;

void *first(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "alpha");
    shared = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "beta");
    hidden_reach(1);
    shared = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
