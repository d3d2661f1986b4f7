// bsearch reads through its callback.
// expect: clean
#include "start.h"

int numbers[8] = {1, 2, 3, 5, 8, 13, 21, 34};
int seen;

int compare(const void *key, const void *element)
{
    return *(const int *)key - *(const int *)element; // B
}

void *first(void *arg)
{
    (void)arg;
    numbers[0] = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    int key = 13;
    seen = bsearch(&key, numbers, 8, sizeof(int), compare) != 0;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
