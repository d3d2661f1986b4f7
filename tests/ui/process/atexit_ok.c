// What a thread did before it registered a handler comes before the handler, even if nobody joined the thread.
// expect: clean
// options: thread_leaks=0
#include <stdlib.h>
#include "start.h"

int value;
int seen;

void handler(void)
{
    seen = value;
}

void *registers(void *arg)
{
    (void)arg;
    value = 1;
    must(atexit(handler) == 0);
    hidden_pass();
    return 0;
}

int main(void)
{
    pthread_t thread = start(registers);
    pthread_detach(thread);
    hidden_reach(1);
    return 0;
}
