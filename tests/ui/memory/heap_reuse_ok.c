// A block freed by one thread and given to another is new: no race across its lives.
// expect: clean
#include <malloc.h>
#include "start.h"

void *first(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        char *block = malloc(4000);
        for (int k = 0; k < 4000; k += 8)
            block[k] = 1;
        free(block);
    }
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    for (int i = 0; i < 50; i++) {
        char *block = malloc(4000);
        for (int k = 0; k < 4000; k += 8)
            block[k] = 2;
        free(block);
    }
    return 0;
}

int main(void)
{
    mallopt(M_ARENA_MAX, 1);
    both(first, second);
    return 0;
}
