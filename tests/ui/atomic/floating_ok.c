// Counting in an atomic floating-point variable orders threads as counting in any other does.
// expect: clean
// libs: -latomic
#include "start.h"

_Atomic float single;
_Atomic double real;
int by_increment, by_decrement, by_sum;

void *writer(void *arg)
{
    (void)arg;
    by_increment = 1; // A
    single++;
    by_decrement = 1;
    --real;
    by_sum = 1;
    real += 3;
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(single == 1);
    by_increment++; // B
    must(real == 2);
    by_decrement++;
    by_sum++;
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
