// Unwinding releases the guard, and the call stack of later accesses is right.
// expect: clean
#include <mutex>
#include <stdexcept>
#include "start.h"

int value;
std::mutex lock;

__attribute__((noinline)) void inner(int i)
{
    std::lock_guard<std::mutex> guard(lock);
    value = i;
    if (i & 1)
        throw std::runtime_error("odd");
}

__attribute__((noinline)) void outer(int i)
{
    inner(i);
    __asm__ volatile("");
}

void *worker(void *)
{
    for (int i = 0; i < 200; i++) {
        try {
            outer(i);
        } catch (const std::runtime_error &) {
        }
    }
    return nullptr;
}

int main()
{
    both(worker, worker);
}
