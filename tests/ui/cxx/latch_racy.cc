// std::latch: count_down comes before wait.
// std: c++20
// expect: data-race global=data op=write,read lines=A,B
#include <latch>
#include "start.h"

int data;
int seen;
std::latch done(1);

void *producer(void *)
{
    done.count_down();
    data = 1; // A
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
