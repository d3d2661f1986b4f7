// Number parsing, character classes, environment and errno in several threads at once.
// expect: clean
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "start.h"

void *worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        char text[32];
        snprintf(text, sizeof text, "%d.5", i);
        char *end;
        must(strtol(text, &end, 10) == i && *end == '.');
        must(strtod(text, 0) == i + 0.5);
        errno = i;
        must(getenv("DEADHEAT_SURELY_NOT_SET") == 0);
        must(isdigit((unsigned char)text[0]));
        must(strlen(strerror(ENOENT)) > 3);
    }
    return 0;
}

int main(void)
{
    both(worker, worker);
    return 0;
}
