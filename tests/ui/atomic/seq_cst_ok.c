// Sequentially consistent stores and loads order; the wrong flag does not.
// expect: clean
#include <stdatomic.h>
#include "start.h"

int data;
int seen;
atomic_int flag, other;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    flag = 1;
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(flag == 1);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
