// std::shared_timed_mutex with try_lock_shared_for.
// std: c++17
// expect: data-race global=value op=write,read lines=A,B locks=1,0
#include <chrono>
#include <shared_mutex>
#include "start.h"

int value;
int seen;
std::shared_timed_mutex lock;

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
    must(!lock.try_lock_shared_for(std::chrono::microseconds(1)));
    seen = value; // B
    hidden_pass();
    return nullptr;
}

int main()
{
    both(first, second);
}
