// MAP_FIXED over a mapping that is in use by nobody any more starts a new life.
// expect: clean
#include <sys/mman.h>
#include "start.h"

int *pages;

void *first(void *arg)
{
    (void)arg;
    pages[10] = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    void *again = mmap((void *)hidden_peek(&pages), 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    must(again == (void *)hidden_peek(&pages));
    ((int *)again)[10] = 2;
    return 0;
}

int main(void)
{
    pages = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(pages != MAP_FAILED);
    both(first, second);
    munmap(pages, 4096);
    return 0;
}
