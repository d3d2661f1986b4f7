// The guard of a static local orders its constructor before every use.
// expect: data-race global=object op=write,read lines=A,B
#include <new>
#include "start.h"

struct Thing {
    int value;
    __attribute__((noinline)) Thing()
    {
        hidden_load(&hidden_turn);
        value = 5; // A
    }
};

Thing *object_place;
int seen;
alignas(Thing) char object[sizeof(Thing)];

__attribute__((noinline)) Thing &get()
{
    if (!hidden_peek(&object_place)) {
        new (object) Thing;
        hidden_poke(&object_place, (long)object);
    }
    return *(Thing *)object;
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
