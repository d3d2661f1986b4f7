// Without findings the status is the program's own.
// expect: clean
// exit: 42
#include "start.h"

void *worker(void *arg)
{
    (void)arg;
    return 0;
}

int main(void)
{
    join(start(worker));
    return 42;
}
