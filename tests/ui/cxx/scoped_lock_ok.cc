// std::scoped_lock takes several mutexes in any order without an inversion.
// expect: clean
// std: c++17
#include <mutex>
#include "start.h"

int value;
std::mutex left, right;

void *first(void *)
{
    for (int i = 0; i < 50; i++) {
        std::scoped_lock both_locks(left, right);
        value++;
    }
    return nullptr;
}

void *second(void *)
{
    for (int i = 0; i < 50; i++) {
        std::scoped_lock both_locks(right, left);
        value++;
    }
    return nullptr;
}

int main()
{
    both(first, second);
    return value == 100 ? 0 : 3;
}
