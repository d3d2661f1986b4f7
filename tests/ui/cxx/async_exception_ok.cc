// An exception carried by a future to another thread.
// expect: clean
#include <future>
#include <stdexcept>
#include <string>

int main()
{
    for (int i = 0; i < 20; i++) {
        auto future = std::async(std::launch::async, [i]() -> int { throw std::runtime_error("number " + std::to_string(i)); });
        try {
            future.get();
            return 3;
        } catch (const std::runtime_error &error) {
            if (std::string(error.what()) != "number " + std::to_string(i))
                return 4;
        }
    }
}
