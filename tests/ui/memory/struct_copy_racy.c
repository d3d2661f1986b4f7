// A structure is assigned by way of a variable that nobody else can see, and one of its fields is written meanwhile.
// flags: -O2
// expect-clang: data-race global=boxes op=read,write size=24,8 lines=A,B
// expect-gcc: data-race global=boxes op=read,write size=8,8 lines=A,B
#include "start.h"

struct box {
    long width, height, depth;
};
struct box boxes[4];
volatile int from = 1, to = 2;

__attribute__((noinline)) static void copy(int to, int from)
{
    struct box box = boxes[from]; boxes[to] = box; // A
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
    boxes[1].height = 3; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
