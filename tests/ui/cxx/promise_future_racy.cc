// set_value comes before get; what follows set_value does not.
// expect: data-race global=side op=write,read lines=A,B
#include <future>
#include <thread>
#include "hidden_barrier.h"

int side;

int main()
{
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread worker([&] {
        promise.set_value(42);
        side = 1; // A
        hidden_pass();
    });
    int value = future.get();
    hidden_reach(1);
    int seen = side; // B
    worker.join();
    return value == 42 && seen == 1 ? 0 : 3;
}
