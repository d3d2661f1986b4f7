// A call_once whose first try throws, and is made again by another thread: every try happens before the next.
// expect: clean
// tsan: skip an exception leaves its pthread_once locked
#include <mutex>
#include <stdexcept>
#include "start.h"

int table;
int tries;
std::once_flag once;

void initialise()
{
    if (tries++ == 0)
        throw std::runtime_error("not yet");
    table = 5;
}

void *first(void *)
{
    try {
        std::call_once(once, initialise);
    } catch (const std::runtime_error &) {
        hidden_pass();
    }
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    std::call_once(once, initialise);
    must(table == 5);
    return nullptr;
}

int main()
{
    both(first, second);
    return tries == 2 ? 0 : 3;
}
