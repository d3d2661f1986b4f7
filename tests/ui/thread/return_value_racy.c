// The value that join hands over points to memory that the thread filled.
// tsan: skip it may name the allocation instead of the write
// expect: data-race heap=400 op=write,read size=4,4 lines=A,B alloc=C
#include "start.h"

int *early;

void *worker(void *arg)
{
    (void)arg;
    int *table = malloc(400); // C
    for (int i = 0; i < 100; i++)
        table[i] = i; // A
    hidden_poke(&early, (long)table);
    hidden_pass();
    return table;
}

int main(void)
{
    pthread_t thread = start(worker);
    void *table;
    hidden_reach(1);
    table = (void *)hidden_peek(&early);
    int seen = ((int *)table)[99]; // B
    must(pthread_join(thread, &table) == 0);
    free(table);
    return seen == 99 ? 0 : 3;
}
