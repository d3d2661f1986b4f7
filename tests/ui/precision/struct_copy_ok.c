// A struct copied whole against one byte of it, and against the byte behind it.
// expect: clean
#include "start.h"

struct record {
    char bytes[27];
};
struct {
    struct record record;
    char behind;
} area;
struct record source = {{1, 2, 3}};

void *first(void *arg)
{
    (void)arg;
    area.record = source; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    area.behind = 9;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
