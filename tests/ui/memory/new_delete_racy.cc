// new and new[], with and without alignment.
// expect: data-race heap=48 op=write,write lines=A,C alloc=E
// expect: data-race heap=256 op=write,write lines=B,D alloc=F
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
    numbers[5] = 2;     // C
    wide->bytes[9] = 2; // D
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
