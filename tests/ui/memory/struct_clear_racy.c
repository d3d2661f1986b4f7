// A structure is cleared, and its last byte is read meanwhile.
// flags: -O2
// expect: data-race global=record op=write,read size=40,1 lines=A,B
#include "start.h"
#include <string.h>

struct record {
    char bytes[40];
};
struct record record;

__attribute__((noinline)) static void clear(struct record *which)
{
    memset(which, 0, sizeof *which); // A
}

void *first(void *arg)
{
    (void)arg;
    clear(&record);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(*(volatile char *)&record.bytes[39] == 0); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
