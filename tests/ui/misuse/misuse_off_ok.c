// Misuse findings can be switched off.
// expect: clean
// options: misuse=off
// tsan: skip its option has another name
#include "start.h"

pthread_mutex_t lock;

int main(void)
{
    pthread_mutex_init(&lock, 0);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
