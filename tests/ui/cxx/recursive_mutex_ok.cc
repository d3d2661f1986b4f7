// std::recursive_mutex and recursive_timed_mutex.
// expect: clean
#include <mutex>
#include "start.h"

int value;
std::recursive_mutex lock;
std::recursive_timed_mutex timed;

void *first(void *)
{
    {
        std::lock_guard<std::recursive_mutex> outer(lock);
        {
            std::lock_guard<std::recursive_mutex> inner(lock);
        }
        value = 1; // A
    }
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    std::lock_guard<std::recursive_timed_mutex> other(timed);
    std::lock_guard<std::recursive_timed_mutex> again(timed);
    std::lock_guard<std::recursive_mutex> guard(lock);
    value = 2;
    return nullptr;
}

int main()
{
    both(first, second);
}
