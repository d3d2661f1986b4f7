// volatile is not atomic.
// tsan: skip it reports one race for each eight bytes
// expect: data-race global=flag op=write,read lines=A,C
// expect: data-race global=data op=write,read lines=B,D
#include <stdatomic.h>
#include "start.h"

volatile int flag;
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
