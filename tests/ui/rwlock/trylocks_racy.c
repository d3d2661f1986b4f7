// tryrdlock and trywrlock order when they succeed, and only then.
// expect: data-race global=value op=write,read lines=A,B locks=1,0
#include <errno.h>
#include "start.h"

int value;
int seen;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void *writer(void *arg)
{
    (void)arg;
    must(pthread_rwlock_trywrlock(&lock) == 0);
    value = 1; // A
    hidden_pass();
    hidden_reach(2);
    pthread_rwlock_unlock(&lock);
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(pthread_rwlock_tryrdlock(&lock) == EBUSY);
    seen = value; // B
    hidden_pass();
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
