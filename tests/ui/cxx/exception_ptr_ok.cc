// An exception_ptr handed to another thread under a mutex.
// expect: clean
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include "start.h"

std::mutex lock;
std::exception_ptr carried;

void *thrower(void *)
{
    try {
        throw std::runtime_error("carried over");
    } catch (...) {
        std::lock_guard<std::mutex> guard(lock);
        carried = std::current_exception();
    }
    hidden_pass();
    return nullptr;
}

void *catcher(void *)
{
    hidden_reach(1);
    std::exception_ptr mine;
    {
        std::lock_guard<std::mutex> guard(lock);
        mine = std::move(carried);
    }
    try {
        std::rethrow_exception(mine);
    } catch (const std::runtime_error &error) {
        must(std::string(error.what()) == "carried over");
    }
    return nullptr;
}

int main()
{
    both(thrower, catcher);
}
