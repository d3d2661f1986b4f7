// __tsan_on_report is called for each report, and for none without a race.
// expect: clean
#include <stdio.h>
#include "start.h"

int value;
int reports;

void __tsan_on_report(void *report)
{
    (void)report;
    reports++;
}

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
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
    both(first, second);
    return reports == 0 ? 0 : 1;
}
