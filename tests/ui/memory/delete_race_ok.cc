// A use that races with delete.
// expect: clean
#include "start.h"

struct Record {
    long values[4];
};
Record *record;
pthread_t user_thread;

void *user(void *)
{
    record->values[2] = 1; // A
    hidden_pass();
    return nullptr;
}

void *deleter(void *)
{
    hidden_reach(1);
    join(user_thread);
    delete record; // B
    return nullptr;
}

int main()
{
    record = new Record; // C
    user_thread = start(user);
    join(start(deleter));
}
