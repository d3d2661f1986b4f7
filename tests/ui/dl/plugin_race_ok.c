// A race inside a library that was loaded by dlopen.
// expect: clean
// shared: plugin.inc
// args: {shared}
// libs: -ldl
#include <dlfcn.h>
#include "start.h"

void (*store)(int);
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    store(1);
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    pthread_mutex_lock(&lock);
    store(2);
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(int count, char **arguments)
{
    must(count == 2);
    void *library = dlopen(arguments[1], RTLD_NOW);
    must(library != 0);
    store = (void (*)(int))dlsym(library, "plugin_store");
    must(store != 0);
    both(first, second);
    dlclose(library);
    return 0;
}
