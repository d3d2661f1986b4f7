// What a program asks for itself holds where nobody says otherwise: here its exit status.
// exit: 66
// tsan: skip the oracle's own options decide
// expect: data-race global=value op=write,write lines=A,B
#include "start.h"

const char *__tsan_default_options(void)
{
    return "exitcode=66";
}

int value;

void *first(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
