// mremap moves a mapping; whoever maps the old place afterwards has new memory.
// expect: clean
// tsan: skip its runtime does not know mremap
#define _GNU_SOURCE
#include <sys/mman.h>
#include "start.h"

int *old_place;

void *first(void *arg)
{
    (void)arg;
    int *pages = old_place;
    pages[10] = 1;
    int *moved = mremap(pages, 4096, 1 << 20, MREMAP_MAYMOVE);
    must(moved != MAP_FAILED && moved[10] == 1);
    moved[100000] = 3;
    munmap(moved, 1 << 20);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    int *pages = mmap((void *)hidden_peek(&old_place), 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages != MAP_FAILED) {
        pages[10] = 2;
        munmap(pages, 4096);
    }
    return 0;
}

int main(void)
{
    char *area = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(area != MAP_FAILED);
    old_place = (int *)area;
    area[4096] = 1;
    both(first, second);
    munmap(area + 4096, 4096);
    return 0;
}
