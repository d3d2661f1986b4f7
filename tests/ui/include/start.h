// Start and join the threads of a test program in a few words.
#ifndef START_H
#define START_H

#include <pthread.h>
#include <stdlib.h>

#include "hidden_barrier.h"

__attribute__((unused)) static pthread_t start(void *(*function)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, 0, function, 0) != 0)
        abort();
    return thread;
}

__attribute__((unused)) static void join(pthread_t thread)
{
    if (pthread_join(thread, 0) != 0)
        abort();
}

// Run two threads at once and wait for both.
__attribute__((unused)) static void both(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t one = start(first);
    pthread_t two = start(second);
    join(one);
    join(two);
}

// Run three threads at once and wait for them.
__attribute__((unused)) static void three(void *(*first)(void *), void *(*second)(void *), void *(*third)(void *))
{
    pthread_t one = start(first);
    pthread_t two = start(second);
    pthread_t more = start(third);
    join(one);
    join(two);
    join(more);
}

// Stop if something that must hold does not.
#define must(condition) \
    do {                \
        if (!(condition)) \
            abort();    \
    } while (0)

#endif
