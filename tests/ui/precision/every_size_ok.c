// Each size overlaps the larger one that holds it by exactly its bytes.
// expect: clean
#include "start.h"

long words[16];
long seen;

void *first(void *arg)
{
    (void)arg;
    words[0] = 1; // A
    words[3] = 1; // B
    words[6] = 1; // C
    words[9] = 1; // D
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    seen += *((char *)&words[0] + 8);
    seen += *((short *)&words[3] + 4);
    seen += *((int *)&words[6] + 2);
    seen += words[10];
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
