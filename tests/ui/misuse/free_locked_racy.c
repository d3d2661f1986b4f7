// Freeing the memory of a mutex that is held.
// expect: destroy-locked lines=A
// tsan: skip it forgets locks in freed memory
#include "start.h"

int main(void)
{
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, 0);
    pthread_mutex_lock(lock);
    free(lock); // A
    return 0;
}
