// After a thousand exceptions the call stack in the report is still right.
// expect: data-race global=value op=write,write lines=A,B path=store>first,second
#include <stdexcept>
#include "start.h"

int value;

__attribute__((noinline)) void fail(int depth)
{
    if (depth == 0)
        throw std::runtime_error("deep");
    fail(depth - 1);
    __asm__ volatile("");
}

__attribute__((noinline)) void store()
{
    value = 1; // A
    __asm__ volatile("");
}

void *first(void *)
{
    for (int i = 0; i < 1000; i++) {
        try {
            fail(10);
        } catch (const std::runtime_error &) {
        }
    }
    store();
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    value = 2; // B
    return nullptr;
}

int main()
{
    both(first, second);
}
