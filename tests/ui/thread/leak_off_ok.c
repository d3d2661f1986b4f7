// Thread leaks can be switched off.
// expect: clean
// options: thread-leaks=off
// tsan: skip its option has another name
#include "start.h"

void *worker(void *arg)
{
    (void)arg;
    hidden_pass();
    return 0;
}

int main(void)
{
    start(worker);
    hidden_reach(1);
    return 0;
}
