// The guard of a static local orders its constructor before every use.
// expect: clean
#include "start.h"

struct Thing {
    int value;
    __attribute__((noinline)) Thing()
    {
        hidden_load(&hidden_turn);
        value = 5; // A
    }
};

int seen;

__attribute__((noinline)) Thing &get()
{
    static Thing object;
    return object;
}

void *first(void *)
{
    get();
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    seen = get().value; // B
    return nullptr;
}

int main()
{
    both(first, second);
}
