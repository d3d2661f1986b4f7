// A block freed twice.
// expect: invalid-free lines=A
// tsan: skip it does not look for it
#include "start.h"

int main(void)
{
    char *volatile block = malloc(40);
    free(block);
    free(block); // A
    return 0;
}
