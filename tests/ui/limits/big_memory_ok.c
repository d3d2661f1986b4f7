// A quarter of a gigabyte touched by ranges and freed again.
// expect: clean
#include <string.h>
#include "start.h"

void *worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        size_t size = 32u << 20;
        char *block = malloc(size);
        must(block != 0);
        memset(block, i, size);
        must(block[size - 1] == i);
        free(block);
    }
    return 0;
}

int main(void)
{
    both(worker, worker);
    return 0;
}
