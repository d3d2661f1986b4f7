// Two structures change places, and one of them is written meanwhile: the other half of the swap is no race.
// flags: -O2
// expect: data-race global=points op=write,write size=16,8 lines=A,B
#include "start.h"

struct point {
    double x, y;
};
struct point points[8];
volatile int left = 2, right = 5;

__attribute__((noinline)) static void swap(struct point *a, struct point *b)
{
    struct point kept = *a;
    *a = *b; // A
    *b = kept;
}

void *first(void *arg)
{
    (void)arg;
    swap(&points[left], &points[right]);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    points[2].y = 1; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
