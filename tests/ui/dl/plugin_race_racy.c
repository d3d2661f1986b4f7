// A race inside a library that was loaded by dlopen.
// shared: plugin.inc
// args: {shared}
// libs: -ldl
// expect: data-race global=plugin_value op=write,write size=4,4
#include <dlfcn.h>
#include "start.h"

void (*store)(int);

void *first(void *arg)
{
    (void)arg;
    store(1);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    store(2);
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
