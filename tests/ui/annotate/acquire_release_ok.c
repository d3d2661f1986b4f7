// __tsan_release comes before __tsan_acquire of the same address.
// expect: clean
#include <sanitizer/tsan_interface.h>
#include "start.h"

int data;
int seen;
char one, other;

void *writer(void *arg)
{
    (void)arg;
    data = 1; // A
    __tsan_release(&one);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    __tsan_acquire(&one);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
