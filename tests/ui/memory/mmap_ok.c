// Memory from mmap is named as a mapping.
// expect: clean
#include <sys/mman.h>
#include "start.h"

int *pages;
int seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    pages[1500] = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    seen = pages[1500]; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(pages != MAP_FAILED);
    both(first, second);
    munmap(pages, 8192);
    return 0;
}
