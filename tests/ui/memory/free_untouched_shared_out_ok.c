// The memory of a large block that was hardly touched is handed out to two threads at the same time, in small parts.
// expect: clean
#include <malloc.h>
#include <string.h>
#include "start.h"

enum { ROUNDS = 3000, PARTS = 8, SIZE = 1100 };

// A barrier that both leave within a few instructions of each other: they wait awake.
HIDDEN void meet_awake(int turn)
{
    hidden_pass();
    while (hidden_load(&hidden_turn) < turn)
        hidden_syscall(24 /* sched_yield */, 0, 0, 0, 0);
}

// Both run at once, so that each is given its parts while the other one is.
static void use_parts(int round)
{
    meet_awake(4 * round + 2);
    for (int i = 0; i < PARTS; i++) {
        char *part = malloc(SIZE);
        hidden_poke(part, 0);
        memset(part, i, SIZE);
    }
    meet_awake(4 * round + 4);
}

void *freer(void *arg)
{
    (void)arg;
    for (int round = 0; round < ROUNDS; round++) {
        char *block = malloc(60000);
        hidden_poke(block, 0);
        block[0] = 1;
        free(block);
        use_parts(round);
    }
    return 0;
}

void *user(void *arg)
{
    (void)arg;
    for (int round = 0; round < ROUNDS; round++)
        use_parts(round);
    return 0;
}

int main(void)
{
    mallopt(M_ARENA_MAX, 1);
    both(freer, user);
    return 0;
}
