// std::thread and join.
// expect: data-race global=result op=write,read lines=A,B
#include <thread>
#include "hidden_barrier.h"

int result;

int main()
{
    std::thread worker([] {
        result = 42; // A
        hidden_pass();
    });
    hidden_reach(1);
    int seen = result; // B
    worker.join();
    return seen == 42 ? 0 : 3;
}
