// One thread grows a vector while another reads an element of the old block.
// expect: clean
#include <mutex>
#include <vector>
#include "start.h"

std::vector<int> numbers(4, 7);
int seen;
std::mutex lock;

void *reader(void *)
{
    lock.lock();
    int *place = (int *)hidden_peek(&numbers);
    seen = place[2]; // A
    lock.unlock();
    hidden_pass();
    return nullptr;
}

void *grower(void *)
{
    hidden_reach(1);
    lock.lock();
    numbers.reserve(100000); // B
    lock.unlock();
    return nullptr;
}

int main()
{
    both(reader, grower);
}
