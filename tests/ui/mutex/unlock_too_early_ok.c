// The second write comes after the unlock.
// expect: clean
#include "start.h"

int first_value, second;
int seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *writer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    first_value = 1;
    second = 1;
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    seen = first_value;
    seen += second; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
