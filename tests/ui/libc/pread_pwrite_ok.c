// pread and pwrite of separate parts of one file by two threads.
// expect: clean
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "start.h"

int file;

void *worker(void *argument)
{
    long index = (long)argument;
    char out[16], in[16];
    for (int i = 0; i < 50; i++) {
        memset(out, 'a' + i % 20, sizeof out);
        must(pwrite(file, out, sizeof out, index * 16) == 16);
        must(pread(file, in, sizeof in, index * 16) == 16);
        must(memcmp(in, out, 16) == 0);
    }
    return 0;
}

int main(void)
{
    FILE *stream = tmpfile();
    must(stream != 0);
    file = fileno(stream);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        must(pthread_create(&threads[i], 0, worker, (void *)i) == 0);
    join(threads[0]);
    join(threads[1]);
    fclose(stream);
    return 0;
}
