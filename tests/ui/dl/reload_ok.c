// A library closed and loaded again has new globals, whoever loads it.
// expect: clean
// tsan: skip it knows no edge through the loader
// shared: plugin.inc
// args: {shared}
// libs: -ldl
#include <dlfcn.h>
#include "start.h"

char *path;

__attribute__((noinline)) void use(int value)
{
    void *library = dlopen(path, RTLD_NOW);
    must(library != 0);
    void (*store)(int) = (void (*)(int))dlsym(library, "plugin_store");
    store(value);
    dlclose(library);
}

void *first(void *arg)
{
    (void)arg;
    use(1);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    use(2);
    return 0;
}

int main(int count, char **arguments)
{
    must(count == 2);
    path = arguments[1];
    for (int i = 0; i < 5; i++)
        use(i);
    both(first, second);
    return 0;
}
