// std::atomic_ref on a plain object; a plain access beside it races.
// expect: clean
// std: c++20
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
    std::atomic_ref<int>(counter).store(5, std::memory_order_relaxed);
    return nullptr;
}

int main()
{
    both(first, second);
}
