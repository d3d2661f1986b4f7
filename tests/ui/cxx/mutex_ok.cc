// std::mutex with lock_guard; one side forgot it.
// expect: clean
#include <mutex>
#include "start.h"

int value;
std::mutex lock;

void *first(void *)
{
    {
        std::lock_guard<std::mutex> guard(lock);
        value = 1; // A
    }
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    std::lock_guard<std::mutex> guard(lock);
    value = 2; // B
    return nullptr;
}

int main()
{
    both(first, second);
}
