// The last member of a large atomic object is written atomically and read plainly.
// expect: data-race global=triple op=atomic-write,read lines=A,B
// flags: -Wno-atomic-alignment
// libs: -latomic
#include <stdatomic.h>
#include "start.h"

struct large { long a, b, c; };
_Atomic struct large triple;
long seen;

void *writer(void *arg)
{
    (void)arg;
    atomic_store(&triple, ((struct large){1, 2, 3})); // A
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = ((struct large *)&triple)->c; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return seen == 3 ? 0 : 3;
}
