// Streams lock themselves: two threads may print to one.
// expect: clean
#include <stdio.h>
#include "start.h"

FILE *file;

void *worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        fprintf(file, "line %d\n", i);
        fputs("text\n", file);
        fputc('c', file);
    }
    fflush(file);
    return 0;
}

int main(void)
{
    file = tmpfile();
    must(file != 0);
    both(worker, worker);
    fclose(file);
    return 0;
}
