// A hundred readers, one of them not ordered with the writer: it is not lost among the others.
// expect: data-race global=table op=read,write lines=A,B
#include "start.h"

#define COUNT 100
int table = 5;
long sink;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *reader(void *argument)
{
    if ((long)argument == 57) {
        int mine = table; // A
        hidden_poke(&sink, mine);
        hidden_pass();
        return 0;
    }
    pthread_mutex_lock(&lock);
    int mine = table;
    hidden_poke(&sink, mine);
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *writer(void *arg)
{
    (void)arg;
    hidden_reach(COUNT);
    pthread_mutex_lock(&lock);
    table = 6; // B
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void)
{
    pthread_t threads[COUNT];
    for (long i = 0; i < COUNT; i++)
        must(pthread_create(&threads[i], 0, reader, (void *)i) == 0);
    join(start(writer));
    for (int i = 0; i < COUNT; i++)
        join(threads[i]);
    return 0;
}
