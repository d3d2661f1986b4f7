// Destructors of globals after main, while nothing else runs.
// expect: clean
#include <string>
#include <thread>
#include <vector>

struct Registry {
    std::vector<std::string> names;
    ~Registry() { names.clear(); }
} registry;

int main()
{
    std::thread worker([] { registry.names.push_back("a name that is longer than the object can hold"); });
    worker.join();
}
