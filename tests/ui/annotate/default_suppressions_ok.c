// Suppressions that the program itself brings along.
// expect: clean
#include "start.h"

const char *__tsan_default_suppressions(void)
{
    return "# known\nrace:known_function\n";
}

int value;

__attribute__((noinline)) void known_function(int number)
{
    value = number;
    __asm__ volatile("");
}

void *first(void *arg)
{
    (void)arg;
    known_function(1);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    known_function(2);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
