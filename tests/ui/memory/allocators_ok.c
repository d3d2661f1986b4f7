// calloc, realloc, aligned_alloc, posix_memalign, memalign: each block is known with its size.
// expect: clean
#include <malloc.h>
#include "start.h"

int *zeroed, *grown, *aligned, *posix;

void *first(void *arg)
{
    (void)arg;
    zeroed[0] = 1;  // A
    grown[40] = 1;  // B
    aligned[1] = 1; // C
    posix[2] = 1;   // D
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    zeroed[1] = 2;
    grown[41] = 2;
    aligned[2] = 2;
    posix[3] = 2;
    return 0;
}

int main(void)
{
    zeroed = calloc(10, 4);           // K
    grown = malloc(8);
    grown = realloc(grown, 200);      // L
    aligned = aligned_alloc(64, 128); // M
    void *place;
    must(posix_memalign(&place, 32, 96) == 0); // N
    posix = place;
    both(first, second);
    free(zeroed);
    free(grown);
    free(aligned);
    free(posix);
    free(memalign(64, 10));
    return 0;
}
