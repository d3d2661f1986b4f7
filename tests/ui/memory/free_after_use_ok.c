// One thread uses a block, another frees it, and nothing orders the two.
// expect: clean
#include "start.h"

int *block;
pthread_t user_thread;

void *user(void *arg)
{
    (void)arg;
    block[1] = 1; // A
    hidden_pass();
    return 0;
}

void *freer(void *arg)
{
    (void)arg;
    hidden_reach(1);
    join(user_thread);
    free(block); // B
    return 0;
}

int main(void)
{
    block = malloc(16); // C
    user_thread = start(user);
    join(start(freer));
    return 0;
}
