// std::async: the result orders.
// expect: clean
#include <future>
#include "hidden_barrier.h"

int side;

int main()
{
    std::future<int> future = std::async(std::launch::async, [] {
        side = 1; // A
        hidden_pass();
        return 42;
    });
    int value = future.get();
    hidden_reach(1);
    int seen = side; // B
    return value == 42 && seen == 1 ? 0 : 3;
}
