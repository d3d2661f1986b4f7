// std::jthread joins in its destructor, and its stop request orders.
// expect: clean
// std: c++20
#include <thread>
#include "hidden_barrier.h"

int result;

int main()
{
    int seen;
    {
        std::jthread worker([](std::stop_token token) {
            while (!token.stop_requested())
                std::this_thread::yield();
            result = 42; // A
            hidden_pass();
        });
        worker.request_stop();
        hidden_reach(1);
    }
    seen = result;
    return seen == 42 ? 0 : 3;
}
