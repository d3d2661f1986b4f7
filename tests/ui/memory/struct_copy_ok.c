// The same with fields of its neighbours: only what is copied is touched.
// flags: -O2
// expect: clean
#include "start.h"

struct box {
    long width, height, depth;
};
struct box boxes[4];
volatile int from = 1, to = 2;

__attribute__((noinline)) static void copy(int to, int from)
{
    struct box box = boxes[from];
    boxes[to] = box;
}

void *first(void *arg)
{
    (void)arg;
    copy(to, from);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    boxes[0].depth = boxes[3].width = 3;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
