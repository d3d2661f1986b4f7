// A call_once inside another's routine throws, through one or through both of them.
// expect: clean
// tsan: skip an exception leaves its pthread_once locked
#include <mutex>
#include <stdexcept>
#include "start.h"

int inner_tries, outer_tries;
std::once_flag inner, outer;

void make_inner()
{
    if (inner_tries++ < 2)
        throw std::runtime_error("not yet");
}

void make_outer()
{
    outer_tries++;
    try {
        std::call_once(inner, make_inner);
    } catch (const std::runtime_error &) {
        outer_tries++;
    }
    std::call_once(inner, make_inner);
    outer_tries++;
}

void *first(void *)
{
    try {
        std::call_once(outer, make_outer);
    } catch (const std::runtime_error &) {
        hidden_pass();
    }
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    std::call_once(outer, make_outer);
    must(inner_tries == 3 && outer_tries == 4);
    return nullptr;
}

int main()
{
    both(first, second);
    must(inner_tries == 3 && outer_tries == 4);
}
