// Locking a mutex on the stack that was never initialised.
// expect: clean
// tsan: skip it does not look for it
#include <string.h>
#include "start.h"

int main(void)
{
    pthread_mutex_t lock;
    memset(&lock, 0x11, sizeof lock);
    pthread_mutex_init(&lock, 0);
    must(pthread_mutex_trylock(&lock) != 12345); // A
    return 0;
}
