// An atomic floating-point variable that is counted in, and read as if it were a plain one.
// expect: data-race global=single op=atomic-read-write,read lines=A,B
// libs: -latomic
#include "start.h"

_Atomic float single;
float seen;

void *writer(void *arg)
{
    (void)arg;
    single++; // A
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = *(float *)&single; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return seen == 1 ? 0 : 3;
}
