// A call_once whose first try throws, and is made again.
// expect: clean
// tsan: skip an exception leaves its pthread_once locked
#include <mutex>
#include <stdexcept>
#include "start.h"

int table;
int tries;
std::once_flag once;

void initialise()
{
    if (tries++ == 0)
        throw std::runtime_error("not yet");
    table = 5;
}

void *worker(void *)
{
    for (;;) {
        try {
            std::call_once(once, initialise);
            break;
        } catch (const std::runtime_error &) {
        }
    }
    must(table == 5);
    return nullptr;
}

int main()
{
    both(worker, worker);
    return tries == 2 ? 0 : 3;
}
