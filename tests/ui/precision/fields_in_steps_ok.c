// The fields of one cell are touched in many steps, at many places, and another thread has a field of its own there.
// expect: clean
#include "fields.h"

void *first(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++)
        touch_all_but_other(i);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    for (int i = 0; i < 50; i++) {
        fields.other = (char)i;
        must(fields.other == (char)i);
    }
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
