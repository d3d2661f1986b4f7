// What a thread does after its call_once threw is ordered with nothing in the next try.
// expect: data-race global=table op=write,write lines=A,B path=first,initialise>second
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
    table = 5; // B
}

void *first(void *)
{
    try {
        std::call_once(once, initialise);
    } catch (const std::runtime_error &) {
        table = 1; // A
        hidden_pass();
    }
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    std::call_once(once, initialise);
    return nullptr;
}

int main()
{
    both(first, second);
}
