// Strings, maps and streams of one thread each, at the same time.
// expect: clean
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

void work(int id)
{
    std::map<std::string, int> words;
    for (int i = 0; i < 300; i++) {
        std::ostringstream text;
        text << "word " << i % 17 << " of " << id;
        words[text.str()]++;
    }
    if (words.size() != 17)
        std::terminate();
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, i);
    for (auto &thread : threads)
        thread.join();
}
