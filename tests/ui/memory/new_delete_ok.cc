// new and new[], with and without alignment.
// expect: clean
#include <new>
#include "start.h"

struct alignas(64) Wide {
    char bytes[256];
};

long *numbers;
Wide *wide;

void *first(void *)
{
    numbers[5] = 1;     // A
    wide->bytes[9] = 1; // B
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    numbers[4] = 2;
    wide->bytes[10] = 2;
    return nullptr;
}

int main()
{
    numbers = new long[6]; // E
    wide = new Wide;       // F
    both(first, second);
    delete[] numbers;
    delete wide;
}
