// A second lock of a plain mutex would wait for ever: named instead of hanging.
// expect: double-lock lines=A
// tsan: skip it would hang
#include "start.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock); // A
    return 0;
}
