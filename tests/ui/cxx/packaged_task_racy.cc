// std::packaged_task run by a thread.
// expect: data-race global=side op=write,read lines=A,B
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
    hidden_reach(1);
    int seen = side; // B
    int value = future.get();
    worker.join();
    return value == 42 && seen == 21 ? 0 : 3;
}
