// std::atomic of a structure that the processor cannot take at once, with waiting and floating-point numbers beside it.
// std: c++20
// expect: clean
// libs: -latomic
#include <atomic>
#include <memory>
#include "start.h"

struct Large {
    long a, b, c;
};
struct Two {
    long a, b;
};

std::atomic<Large> large;
std::atomic<Two> two;
std::atomic<float> single;
std::atomic<double> real;
std::atomic<long double> longest;
std::atomic<int *> pointer;
std::atomic<std::shared_ptr<int>> shared;
std::atomic_flag flag;
alignas(double) double plain;
int numbers[8];
int data[9];

void *writer(void *)
{
    data[0] = 1;
    large.store({1, 2, 3}, std::memory_order_release);
    data[1] = 1;
    Two none = {0, 0};
    must(two.compare_exchange_strong(none, {1, 2}, std::memory_order_release));
    data[2] = 1;
    single.fetch_add(1, std::memory_order_release);
    data[3] = 1;
    real.fetch_sub(1, std::memory_order_release);
    data[4] = 1;
    longest.store(1, std::memory_order_release);
    data[5] = 1;
    pointer.store(numbers + 1, std::memory_order_release);
    data[6] = 1;
    shared.store(std::make_shared<int>(7), std::memory_order_release);
    data[7] = 1;
    std::atomic_ref(plain).fetch_add(2, std::memory_order_release);
    data[8] = 1;
    flag.test_and_set(std::memory_order_release);
    flag.notify_one();
    return nullptr;
}

void *reader(void *)
{
    // One after the other: each must order its own number.
    while (large.load(std::memory_order_acquire).c != 3) {
    }
    data[0]++;
    while (two.load(std::memory_order_acquire).b != 2) {
    }
    data[1]++;
    while (single.load(std::memory_order_acquire) != 1) {
    }
    data[2]++;
    while (real.load(std::memory_order_acquire) != -1) {
    }
    data[3]++;
    while (longest.load(std::memory_order_acquire) != 1) {
    }
    data[4]++;
    while (pointer.load(std::memory_order_acquire) != numbers + 1) {
    }
    data[5]++;
    std::shared_ptr<int> seen;
    while (!(seen = shared.load(std::memory_order_acquire))) {
    }
    data[6] += *seen;
    while (std::atomic_ref(plain).load(std::memory_order_acquire) != 2) {
    }
    data[7]++;
    flag.wait(false, std::memory_order_acquire);
    data[8]++;
    return nullptr;
}

int main()
{
    both(writer, reader);
}
