// qsort moves the whole array, and calls back into the program.
// expect: clean
#include "start.h"

int numbers[64];
int seen;

int compare(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

void *first(void *arg)
{
    (void)arg;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    qsort(numbers, 64, sizeof(int), compare); // B
    return 0;
}

int main(void)
{
    for (int i = 0; i < 64; i++)
        numbers[i] = 64 - i;
    both(first, second);
    return numbers[0] == 1 && numbers[63] == 64 ? 0 : 3;
}
