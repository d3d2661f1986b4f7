// Many threads meet at one static local.
// expect: clean
#include <exception>
#include <thread>
#include <vector>

struct Table {
    std::vector<int> values;
    Table()
    {
        for (int i = 0; i < 1000; i++)
            values.push_back(i);
    }
};

const Table &table()
{
    static Table instance;
    return instance;
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([] {
            long sum = 0;
            for (int value : table().values)
                sum += value;
            if (sum != 499500)
                std::terminate();
        });
    for (auto &thread : threads)
        thread.join();
}
