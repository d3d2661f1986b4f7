// A variable on the stack whose address another thread gets is not the function's own.
// flags: -O2
// expect: data-race global=seen op=write,read
// expect: data-race stack=box op=write,read size=24,8 lines=A,B
#include "start.h"

struct box {
    long width, height, depth;
};
struct box boxes[4];
struct box *volatile seen;
volatile int from = 1;

void *first(void *arg)
{
    struct box box;
    (void)arg;
    seen = &box;
    box = boxes[from]; // A
    hidden_pass();
    hidden_reach(2);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    struct box *box = seen;
    must(*(volatile long *)&box->height == 0); // B
    hidden_pass();
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
