// std::atomic_ref on a plain object; a plain access beside it races.
// std: c++20
// expect: data-race global=counter op=atomic-read-write,write lines=A,B
#include <atomic>
#include "start.h"

int counter;

void *first(void *)
{
    std::atomic_ref<int>(counter).fetch_add(1, std::memory_order_relaxed); // A
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    counter = 5; // B
    return nullptr;
}

int main()
{
    both(first, second);
}
