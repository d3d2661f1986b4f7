// A shared_ptr does not protect what it points to.
// expect: clean
#include <memory>
#include <mutex>
#include <thread>
#include "hidden_barrier.h"

int main()
{
    auto shared = std::make_shared<int>(0);
    std::mutex lock;
    std::thread one([&, copy = shared] {
        hidden_reach(1);
        lock.lock();
        *copy = 1; // A
        lock.unlock();
        hidden_pass();
    });
    std::thread two([&, copy = shared] {
        hidden_pass();
        hidden_reach(2);
        lock.lock();
        *copy = 2; // B
        lock.unlock();
    });
    one.join();
    two.join();
}
