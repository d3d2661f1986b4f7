// A use that races with delete.
// expect: use-after-free heap=32 op=write,free lines=A,B alloc=C
#include "start.h"

struct Record {
    long values[4];
};
Record *record;

void *user(void *)
{
    record->values[2] = 1; // A
    hidden_pass();
    return nullptr;
}

void *deleter(void *)
{
    hidden_reach(1);
    delete record; // B
    return nullptr;
}

int main()
{
    record = new Record; // C
    both(user, deleter);
}
