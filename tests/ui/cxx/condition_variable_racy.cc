// std::condition_variable with a predicate; in the racy one the data come after the unlock.
// expect: data-race global=data op=write,read lines=A,B
#include <condition_variable>
#include <mutex>
#include "start.h"

bool ready;
int data;
int seen;
std::mutex lock;
std::condition_variable changed;

void *producer(void *)
{
    {
        std::lock_guard<std::mutex> guard(lock);
        ready = true;
    }
    data = 42; // A
    hidden_pass();
    changed.notify_one();
    return nullptr;
}

void *consumer(void *)
{
    hidden_reach(1);
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [] { return ready; });
    seen = data; // B
    return nullptr;
}

int main()
{
    both(producer, consumer);
}
