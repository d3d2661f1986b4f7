// std::async: the result orders.
// expect: data-race global=side op=write,read lines=A,B
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
    hidden_reach(1);
    int seen = side; // B
    int value = future.get();
    return value == 42 && seen == 1 ? 0 : 3;
}
