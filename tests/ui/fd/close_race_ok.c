// A descriptor closed by one thread while another writes to it.
// expect: clean
#include <unistd.h>
#include "start.h"

int ends[2];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    must(write(ends[1], "x", 1) == 1); // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    close(ends[1]); // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    both(first, second);
    close(ends[0]);
    return 0;
}
