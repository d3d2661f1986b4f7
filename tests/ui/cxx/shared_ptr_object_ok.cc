// The counts are atomic, the shared_ptr object itself is not.
// expect: clean
#include <memory>
#include <mutex>
#include "start.h"

std::shared_ptr<int> shared = std::make_shared<int>(1);
int seen;
std::mutex lock;

void *first(void *)
{
    {
        std::lock_guard<std::mutex> guard(lock);
        seen = shared.get() != nullptr; // A
    }
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    std::shared_ptr<int> other;
    hidden_reach(1);
    {
        std::lock_guard<std::mutex> guard(lock);
        shared.swap(other); // B
    }
    hidden_pass();
    return nullptr;
}

int main()
{
    both(first, second);
}
