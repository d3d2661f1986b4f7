// free of memory that is no heap block.
// expect: invalid-free lines=A
// tsan: skip it does not look for it
#include "start.h"

char area[64];

int main(void)
{
    char *volatile inside = area + 16;
    free(inside); // A
    return 0;
}
