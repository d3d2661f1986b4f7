// The same with std::mutex and guards.
// expect: lock-order-inversion lines=A,B cycle=2
#include <mutex>
#include "start.h"

std::mutex left, right;

void *first(void *)
{
    {
        std::lock_guard<std::mutex> outer(left);
        std::lock_guard<std::mutex> inner(right); // A
    }
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    std::lock_guard<std::mutex> outer(right);
    std::lock_guard<std::mutex> inner(left); // B
    return nullptr;
}

int main()
{
    both(first, second);
}
