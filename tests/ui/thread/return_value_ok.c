// The value that join hands over points to memory that the thread filled.
// expect: clean
#include "start.h"

int *early;

void *worker(void *arg)
{
    (void)arg;
    int *table = malloc(400); // C
    for (int i = 0; i < 100; i++)
        table[i] = i; // A
    hidden_pass();
    return table;
}

int main(void)
{
    pthread_t thread = start(worker);
    void *table;
    must(pthread_join(thread, &table) == 0);
    hidden_reach(1);
    int seen = ((int *)table)[99]; // B
    free(table);
    return seen == 99 ? 0 : 3;
}
