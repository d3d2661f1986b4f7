// A shared_ptr does not protect what it points to.
// expect: data-race heap=24 op=write,write lines=A,B
#include <memory>
#include <mutex>
#include <thread>
#include "hidden_barrier.h"

int main()
{
    auto shared = std::make_shared<int>(0);
    std::thread one([&, copy = shared] {
        hidden_reach(1);
        *copy = 1; // A
        hidden_pass();
    });
    std::thread two([&, copy = shared] {
        hidden_pass();
        hidden_reach(2);
        *copy = 2; // B
    });
    one.join();
    two.join();
}
