// An exception that nobody catches, after the race.
// expect: data-race global=value op=write,write lines=A,B
#include <stdexcept>
#include "start.h"

int value;

void *first(void *)
{
    value = 1; // A
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    value = 2; // B
    return nullptr;
}

int main()
{
    both(first, second);
    throw std::runtime_error("nobody catches this");
}
