// std::timed_mutex: try_lock_for that fails holds nothing.
// expect: clean
#include <chrono>
#include <mutex>
#include "start.h"

int value;
std::timed_mutex lock;

void *first(void *)
{
    lock.lock();
    value = 1; // A
    lock.unlock();
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    must(lock.try_lock_for(std::chrono::seconds(60)));
    value = 2; // B
    lock.unlock();
    hidden_pass();
    return nullptr;
}

int main()
{
    both(first, second);
}
