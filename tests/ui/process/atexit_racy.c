// What a thread does after it registered a handler is not ordered before the handler.
// expect: data-race global=value op=read,write lines=B,A
#include <stdlib.h>
#include "start.h"

int value;
int seen;

void handler(void)
{
    seen = value; // B
}

void *registers(void *arg)
{
    (void)arg;
    must(atexit(handler) == 0);
    value = 1; // A
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
