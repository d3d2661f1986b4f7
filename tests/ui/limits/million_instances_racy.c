// A million instances of one race are one finding with a count, in bounded memory and output.
// expect: data-race global=cells op=write,write lines=A,B count>=1000
// tsan: skip it does not count
#include "start.h"

#define COUNT 1000000
int cells[COUNT];

void *first(void *arg)
{
    (void)arg;
    for (int i = 0; i < COUNT; i++)
        cells[i] = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    for (int i = 0; i < COUNT; i++)
        cells[i] = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
