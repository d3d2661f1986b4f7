// The counts are atomic, the shared_ptr object itself is not.
// expect: data-race global=shared lines=A,B locks=0,0
#include <memory>
#include <mutex>
#include "start.h"

std::shared_ptr<int> shared = std::make_shared<int>(1);
int seen;

void *first(void *)
{
    {
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
        shared.swap(other); // B
    }
    hidden_pass();
    return nullptr;
}

int main()
{
    both(first, second);
}
