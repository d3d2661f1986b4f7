// std::timed_mutex: try_lock_for that fails holds nothing.
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#include <chrono>
#include <mutex>
#include "start.h"

int value;
std::timed_mutex lock;

void *first(void *)
{
    lock.lock();
    value = 1; // A
    hidden_pass();
    hidden_reach(2);
    lock.unlock();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    must(!lock.try_lock_for(std::chrono::microseconds(1)));
    value = 2; // B
    hidden_pass();
    return nullptr;
}

int main()
{
    both(first, second);
}
