// Memory from mmap is named as a mapping.
// expect: data-race memory=mapping op=write,read lines=A,B
#include <sys/mman.h>
#include "start.h"

int *pages;
int seen;

void *first(void *arg)
{
    (void)arg;
    pages[1500] = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = pages[1500]; // B
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
