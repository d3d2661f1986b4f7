// A thread that is cancelled inside fprintf runs the destructors of its objects.
// expect: clean
// compilers: gcc
#include <cstdio>
#include <unistd.h>
#include "start.h"

int gone;
FILE *pipe_end;

struct Object {
    ~Object() { gone = 1; }
};

void *writer(void *)
{
    Object object;
    for (;;)
        fprintf(pipe_end, "%d times\n", 5);
    return nullptr;
}

int main()
{
    int ends[2];
    must(pipe(ends) == 0);
    pipe_end = fdopen(ends[1], "w");
    pthread_t thread = start(writer);
    char text[4096];
    for (int i = 0; i < 3; i++)
        must(read(ends[0], text, sizeof text) > 0);
    must(pthread_cancel(thread) == 0);
    void *result;
    must(pthread_join(thread, &result) == 0);
    must(result == PTHREAD_CANCELED);
    _exit(gone ? 0 : 3);
}
