// A field of a global struct.
// expect: data-race global=settings op=write,read size=8,8 lines=A,B
#include "start.h"

struct {
    int first;
    long second;
    char third[20];
} settings;
long seen;

void *first(void *arg)
{
    (void)arg;
    settings.second = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen = settings.second; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
