// A read, then a write that nothing orders after it.
// expect: data-race global=value op=read,write size=8,8 lines=A,B
#include "start.h"

long value;
long seen;

void *reader(void *arg)
{
    (void)arg;
    seen = value; // A
    hidden_pass();
    return 0;
}

void *writer(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    both(reader, writer);
    return 0;
}
