// pthread_exit deep in a thread ends it; join orders what came before.
// expect: data-race global=result op=write,read lines=A,B
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
    hidden_reach(1);
    int seen = *(int *)answer; // B
    must(pthread_join(thread, &answer) == 0);
    return seen == 42 ? 0 : 3;
}
