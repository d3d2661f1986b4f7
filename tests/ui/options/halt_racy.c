// The program stops at its first finding if it should.
// options: halt-on-error=on
// tsan: skip its option has another name
// expect: data-race global=first_value op=write,write lines=A,B
#include "start.h"

long first_value, second_value;

void *first(void *arg)
{
    (void)arg;
    first_value = 1; // A
    second_value = 1;
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    first_value = 2; // B
    second_value = 2;
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
