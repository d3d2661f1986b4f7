// atomic::wait and notify: the wait is a load with its order.
// expect: clean
// std: c++20
#include <atomic>
#include "start.h"

int data;
int seen;
std::atomic<int> flag;

void *producer(void *)
{
    hidden_reach(1);
    data = 1; // A
    flag.store(1, std::memory_order_release);
    flag.notify_all();
    return nullptr;
}

void *consumer(void *)
{
    hidden_pass();
    flag.wait(0, std::memory_order_acquire);
    seen = data; // B
    return nullptr;
}

int main()
{
    both(producer, consumer);
}
