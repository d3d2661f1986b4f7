// An old racy write is still remembered after ten other threads have read the same word.
// expect: data-race global=word op=read,write lines=A,B locks=0,1
#include "start.h"

long word;
long seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *careless(void *arg)
{
    (void)arg;
    long mine = word; // A
    hidden_poke(&seen, mine);
    hidden_pass();
    return 0;
}

void *careful(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    long mine = word;
    hidden_poke(&seen, mine);
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *writer(void *arg)
{
    (void)arg;
    hidden_reach(11);
    pthread_mutex_lock(&lock);
    word = 1; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_t threads[12];
    threads[0] = start(careless);
    for (int i = 1; i < 11; i++)
        threads[i] = start(careful);
    threads[11] = start(writer);
    for (int i = 0; i < 12; i++)
        join(threads[i]);
    return 0;
}
