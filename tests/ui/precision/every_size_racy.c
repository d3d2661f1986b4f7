// Each size overlaps the larger one that holds it by exactly its bytes.
// expect: data-race global=words op=write,read size=8,1 lines=A,E
// expect: data-race global=words op=write,read size=8,2 lines=B,F
// expect: data-race global=words op=write,read size=8,4 lines=C,G
// expect: data-race global=words op=write,read size=8,8 lines=D,H
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
    seen += *((char *)&words[0] + 7);  // E
    seen += *((short *)&words[3] + 3); // F
    seen += *((int *)&words[6] + 1);   // G
    seen += words[9];                  // H
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
