// The common keys of TSAN_OPTIONS are understood when the program asks for them itself.
// tsan: skip it reads the same variable
// expect: data-race global=value op=write,write lines=A,B
#include "start.h"

const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
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
    start(first);
    join(start(second));
    return 0;
}
