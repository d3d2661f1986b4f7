// std::shared_timed_mutex with try_lock_shared_for.
// expect: clean
// std: c++17
// tsan: skip its runtime does not know pthread_rwlock_clockrdlock
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
    lock.unlock();
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    must(lock.try_lock_shared_for(std::chrono::seconds(60)));
    seen = value; // B
    lock.unlock_shared();
    hidden_pass();
    return nullptr;
}

int main()
{
    both(first, second);
}
