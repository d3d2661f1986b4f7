// pthread_exit deep in a thread ends it; join orders what came before.
// expect: clean
#include "start.h"

int result;

__attribute__((noinline)) void leave(void)
{
    result = 42; // A
    hidden_pass();
    pthread_exit(&result);
}

void *worker(void *arg)
{
    (void)arg;
    leave();
    result = 99;
    return 0;
}

int main(void)
{
    pthread_t thread = start(worker);
    void *answer = &result;
    must(pthread_join(thread, &answer) == 0);
    hidden_reach(1);
    int seen = *(int *)answer; // B
    return seen == 42 ? 0 : 3;
}
