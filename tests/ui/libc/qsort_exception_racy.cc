// After a thousand exceptions out of qsort and bsearch the call stack in the report is still right.
// expect: data-race global=value op=write,write lines=A,B path=store>first,second
#include <cstdlib>
#include <stdexcept>
#include "start.h"

int value;
int numbers[4] = {3, 1, 2, 0};

int fail(const void *, const void *)
{
    throw std::runtime_error("not comparable");
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
            std::qsort(numbers, 4, sizeof(int), fail);
        } catch (const std::runtime_error &) {
        }
        try {
            std::bsearch(numbers, numbers, 4, sizeof(int), fail);
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
