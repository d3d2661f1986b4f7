// The fields of one cell are touched in many steps, at many places; the one race is with the last write of one of them.
// expect: data-race global=fields op=write,read size=1,1 lines=A,B
#include "fields.h"

static void last(void)
{
    fields.other = 9; // A
}

void *first(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++)
        touch_all(i);
    last();
    touch_all_but_other(50);
    touch_all_but_other(51);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    if (fields.other == 1) // B
        abort();
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
