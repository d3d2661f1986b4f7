// Pages unmapped by one thread and mapped anew at the same address by another are new memory.
// expect: clean
#define _GNU_SOURCE
#include <sys/mman.h>
#include "start.h"

long place;

void *first(void *arg)
{
    (void)arg;
    int *pages = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[10] = 1;
    munmap(pages, 4096);
    hidden_poke(&place, (long)pages);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    int *pages = mmap((void *)hidden_peek(&place), 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages != MAP_FAILED) {
        pages[10] = 2;
        munmap(pages, 4096);
    }
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
