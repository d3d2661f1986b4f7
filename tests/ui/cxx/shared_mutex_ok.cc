// std::shared_mutex: a write under a shared lock.
// expect: clean
// std: c++17
#include <mutex>
#include <shared_mutex>
#include "start.h"

int value;
int seen;
std::shared_mutex lock;

void *first(void *)
{
    {
        std::unique_lock<std::shared_mutex> guard(lock);
        value = 1; // A
    }
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    std::shared_lock<std::shared_mutex> guard(lock);
    seen = value; // B
    return nullptr;
}

int main()
{
    both(first, second);
}
