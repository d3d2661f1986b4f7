// std::thread and join.
// expect: clean
#include <thread>
#include "hidden_barrier.h"

int result;

int main()
{
    std::thread worker([] {
        result = 42; // A
        hidden_pass();
    });
    worker.join();
    hidden_reach(1);
    int seen = result; // B
    return seen == 42 ? 0 : 3;
}
