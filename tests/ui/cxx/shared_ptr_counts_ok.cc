// Copies of one shared_ptr in several threads: its counts are atomic, and the last owner may free.
// expect: clean
#include <memory>
#include <thread>
#include <vector>

int main()
{
    for (int round = 0; round < 20; round++) {
        auto shared = std::make_shared<std::vector<int>>(10, round);
        std::weak_ptr<std::vector<int>> weak = shared;
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back([copy = shared, weak, round] {
                auto again = weak.lock();
                if (!again || (*copy)[3] != round)
                    std::terminate();
            });
        shared.reset();
        for (auto &thread : threads)
            thread.join();
    }
}
