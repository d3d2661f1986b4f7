// A virtual call races with the destructor that changes the vptr.
// expect: data-race op=read,vptr-write lines=A,B
#include <mutex>
#include "start.h"

struct Base {
    virtual void step() {}
    virtual ~Base() { hidden_load(&hidden_turn); } // B
};

struct Derived : Base {
    int steps = 0;
    void step() override {}
};

Base *object;

void *caller(void *)
{
    object->step(); // A
    hidden_pass();
    return nullptr;
}

void *destroyer(void *)
{
    hidden_reach(1);
    object->~Base();
    return nullptr;
}

int main()
{
    static char place[sizeof(Derived)] __attribute__((aligned(16)));
    object = new (place) Derived;
    both(caller, destroyer);
}
