// std::condition_variable_any over a shared_mutex.
// std: c++20
// expect: data-race global=data op=write,read lines=A,B
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
        ready = true;
    }
    data = 42; // A
    hidden_pass();
    changed.notify_all();
    return nullptr;
}

void *consumer(void *)
{
    hidden_reach(1);
    std::shared_lock<std::shared_mutex> guard(lock);
    changed.wait(guard, [] { return ready; });
    seen = data; // B
    return nullptr;
}

int main()
{
    both(producer, consumer);
}
