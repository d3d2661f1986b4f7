// volatile is not atomic.
// expect: clean
#include <stdatomic.h>
#include "start.h"

atomic_int flag;
int data;
int seen;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // B
    flag = 1; // A
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    while (!flag) // C
        ;
    seen = data; // D
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
