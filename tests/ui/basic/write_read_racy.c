// A write, then a read that nothing orders after it.
// expect: data-race global=value op=write,read size=4,4 lines=A,B
#include "start.h"

int value;
int seen;

void *writer(void *arg)
{
    (void)arg;
    value = 7; // A
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = value; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
