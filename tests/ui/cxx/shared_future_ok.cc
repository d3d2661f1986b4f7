// A shared_future read by two threads orders both after the promise.
// expect: clean
#include <future>
#include <thread>
#include "hidden_barrier.h"

int side;
int seen[2];

int main()
{
    std::promise<void> promise;
    std::shared_future<void> future = promise.get_future().share();
    std::thread one([future] {
        future.wait();
        seen[0] = side;
    });
    std::thread two([future] {
        future.wait();
        seen[1] = side; // B
    });
    side = 1; // A
    hidden_pass();
    promise.set_value();
    one.join();
    two.join();
    return 0;
}
