// stop_callback runs in the thread that asks to stop, ordered with the registration.
// expect: clean
// std: c++20
#include <stop_token>
#include <thread>
#include "hidden_barrier.h"

int data;
int seen;

int main()
{
    std::stop_source source;
    std::thread worker([token = source.get_token()] {
        data = 1;
        std::stop_callback callback(token, [] { seen = data; });
        hidden_pass();
        hidden_reach(2);
    });
    hidden_reach(1);
    source.request_stop();
    hidden_pass();
    worker.join();
    return seen == 1 ? 0 : 3;
}
