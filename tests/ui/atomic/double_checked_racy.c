// Double-checked initialisation: the fast path needs an acquire load.
// expect: data-race global=instance op=write,read lines=A,B locks=1,0
#include <stdatomic.h>
#include "start.h"

struct thing {
    int value;
} storage;
struct thing *instance;
int seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) struct thing *get(void)
{
    struct thing *found = instance; // B
    if (!found) {
        pthread_mutex_lock(&lock);
        if (!instance) {
            storage.value = 1;
            instance = &storage; // A
        }
        found = instance;
        pthread_mutex_unlock(&lock);
    }
    return found;
}

void *first(void *arg)
{
    (void)arg;
    get();
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(get() != 0);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
