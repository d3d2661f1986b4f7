// std::condition_variable_any over a shared_mutex.
// expect: clean
// std: c++20
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include "start.h"

bool ready;
int data;
int seen;
std::shared_mutex lock;
std::condition_variable_any changed;

void *producer(void *)
{
    {
        std::unique_lock<std::shared_mutex> guard(lock);
        data = 42;
        ready = true;
    }
    hidden_pass();
    changed.notify_all();
    return nullptr;
}

void *consumer(void *)
{
    std::shared_lock<std::shared_mutex> guard(lock);
    changed.wait(guard, [] { return ready; });
    seen = data; // B
    return nullptr;
}

int main()
{
    both(producer, consumer);
}
