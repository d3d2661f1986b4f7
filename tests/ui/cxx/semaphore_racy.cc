// std::binary_semaphore and counting_semaphore: release comes before acquire.
// std: c++20
// expect: data-race global=data op=write,read lines=A,B
#include <semaphore>
#include "start.h"

int data;
int seen;
std::binary_semaphore items(0);
std::counting_semaphore<8> places(1);

void *producer(void *)
{
    places.acquire();
    items.release();
    data = 1; // A
    hidden_pass();
    return nullptr;
}

void *consumer(void *)
{
    items.acquire();
    hidden_reach(1);
    seen = data; // B
    places.release();
    return nullptr;
}

int main()
{
    both(producer, consumer);
}
