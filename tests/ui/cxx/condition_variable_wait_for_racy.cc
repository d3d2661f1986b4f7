// wait_for that times out holds the mutex again.
// expect: data-race global=value op=write,write lines=A,B locks=1,0
#include <chrono>
#include <condition_variable>
#include <mutex>
#include "start.h"

int value;
std::mutex lock;
std::condition_variable never;

void *first(void *)
{
    {
        std::unique_lock<std::mutex> guard(lock);
        must(never.wait_for(guard, std::chrono::microseconds(1), [] { return false; }) == false);
        value = 1; // A
    }
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    value = 2; // B
    return nullptr;
}

int main()
{
    both(first, second);
}
