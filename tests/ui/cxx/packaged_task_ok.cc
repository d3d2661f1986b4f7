// std::packaged_task run by a thread.
// expect: clean
#include <future>
#include <thread>
#include "hidden_barrier.h"

int side;

int main()
{
    std::packaged_task<int(int)> task([](int value) {
        side = value; // A
        hidden_pass();
        return value * 2;
    });
    std::future<int> future = task.get_future();
    std::thread worker(std::move(task), 21);
    int value = future.get();
    hidden_reach(1);
    int seen = side; // B
    worker.join();
    return value == 42 && seen == 21 ? 0 : 3;
}
