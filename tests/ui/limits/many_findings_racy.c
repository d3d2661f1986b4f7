// Twenty different races are twenty findings.
// expect: data-race global=cells lines=A,B
// expect: data-race global=cells lines=C,D
// expect: data-race global=cells lines=E,F
// expect: data-race global=cells lines=G,H
// expect: data-race global=cells lines=I,J
// expect: data-race global=cells lines=K,L
// expect: data-race global=cells lines=M,N
// expect: data-race global=cells lines=O,P
#include "start.h"

long cells[64];

void *first(void *arg)
{
    (void)arg;
    cells[0] = 1;  // A
    cells[8] = 1;  // C
    cells[16] = 1; // E
    cells[24] = 1; // G
    cells[32] = 1; // I
    cells[40] = 1; // K
    cells[48] = 1; // M
    cells[56] = 1; // O
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    cells[0] = 2;  // B
    cells[8] = 2;  // D
    cells[16] = 2; // F
    cells[24] = 2; // H
    cells[32] = 2; // J
    cells[40] = 2; // L
    cells[48] = 2; // N
    cells[56] = 2; // P
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
