// std::call_once.
// expect: data-race global=table op=write,read lines=A,B
#include <mutex>
#include "start.h"

int table;
int seen;
std::once_flag once;

void initialise()
{
    table = 5; // A
}

void *first(void *)
{
    std::call_once(once, initialise);
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    seen = table; // B
    return nullptr;
}

int main()
{
    both(first, second);
}
