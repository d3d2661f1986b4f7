// std::latch: count_down comes before wait.
// expect: clean
// std: c++20
#include <latch>
#include "start.h"

int data;
int seen;
std::latch done(1);

void *producer(void *)
{
    data = 1;
    done.count_down();
    hidden_pass();
    return nullptr;
}

void *consumer(void *)
{
    done.wait();
    hidden_reach(1);
    seen = data; // B
    return nullptr;
}

int main()
{
    both(producer, consumer);
}
