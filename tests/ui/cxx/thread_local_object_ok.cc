// thread_local objects with constructors and destructors, in threads that follow each other.
// expect: clean
#include <atomic>
#include <string>
#include <thread>

std::atomic<int> destroyed;

struct Mine {
    std::string text = "a text that does not fit into the object itself";
    ~Mine() { destroyed.fetch_add(text.size() > 20, std::memory_order_relaxed); }
};

thread_local Mine mine;

int main()
{
    for (int i = 0; i < 20; i++) {
        std::thread first([] { mine.text += "!"; });
        std::thread second([] { mine.text += "?"; });
        first.join();
        second.join();
    }
    return destroyed == 40 ? 0 : 3;
}
