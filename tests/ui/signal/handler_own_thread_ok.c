// A handler never races with the thread that it interrupts.
// expect: clean
#include <signal.h>
#include "start.h"

int counter;

void handler(int number)
{
    (void)number;
    counter++;
}

int main(void)
{
    signal(SIGUSR1, handler);
    for (int i = 0; i < 100; i++) {
        counter++;
        raise(SIGUSR1);
    }
    return counter == 200 ? 0 : 3;
}
