// Eight bytes written by eight threads, seven of them ordered: the word's reader finds the eighth.
// tsan: skip it keeps four accesses for each word
// expect: data-race global=word op=write,read size=1,8 lines=A,B
#include "start.h"

union {
    char bytes[8];
    long whole;
} word;
long seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *careful(void *argument)
{
    pthread_mutex_lock(&lock);
    word.bytes[(long)argument] = 1;
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *careless(void *arg)
{
    (void)arg;
    hidden_reach(3);
    word.bytes[3] = 1; // A
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(8);
    pthread_mutex_lock(&lock);
    seen = word.whole; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_t threads[9];
    for (long i = 0; i < 8; i++)
        must(pthread_create(&threads[i], 0, i == 3 ? careless : careful, (void *)i) == 0);
    threads[8] = start(reader);
    for (int i = 0; i < 9; i++)
        join(threads[i]);
    return 0;
}
