// Two places race: two findings, even if both lie in one word.
// tsan: skip it reports one race for each eight bytes
// expect: data-race global=left op=write,write lines=A,C
// expect: data-race global=right op=write,write lines=B,D
#include "start.h"

int left;
int right;

void *first(void *arg)
{
    (void)arg;
    left = 1;  // A
    right = 1; // B
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    left = 2;  // C
    right = 2; // D
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
