// Functions that put their answer into memory of the program write it: each races with a thread that reads it.
// expect: data-race global=status op=read,write lines=B,C
// expect: data-race global=window op=read,write lines=B,D
// expect: data-race global=sine op=read,write lines=B,E
// expect: data-race global=set op=read,write lines=B,F
// expect: data-race global=matches op=read,write lines=B,G
// expect: data-race global=wide op=read,write lines=B,H
// expect: data-race global=end op=read,write lines=B,I
// expect: data-race global=converted op=read,write lines=B,J
// expect: data-race global=part op=read,write lines=B,K
// expect: data-race global=cpus op=read,write lines=B,L
// flags: -fno-builtin
// libs: -lm
#define _GNU_SOURCE
#include <iconv.h>
#include <math.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>
#include "start.h"

int status;
int window;
double sine, cosine;
sigset_t set;
regmatch_t matches[1];
int wide;
char *end;
char converted[8];
long double part;
cpu_set_t cpus;

int ends[2];
long sum;

void *asks(void *arg)
{
    (void)arg;
    must(wait(&status) > 0);                                    // C
    must(ioctl(ends[0], FIONREAD, &window) == 0);               // D
    sincos(1.0, &sine, &cosine);                                // E
    must(sigprocmask(SIG_BLOCK, 0, &set) == 0);                 // F
    regex_t expression;
    must(regcomp(&expression, "b+", REG_EXTENDED) == 0);
    must(regexec(&expression, "abbc", 1, matches, 0) == 0);     // G
    regfree(&expression);
    must(swscanf(L"12", L"%d", &wide) == 1);                    // H
    must(strtold("1.5x", &end) == 1.5L);                        // I
    iconv_t to = iconv_open("UTF-8", "LATIN1");
    must(to != (iconv_t)-1);
    char text[] = "abc", *in = text, *out = converted;
    size_t left = 3, room = sizeof converted;
    must(iconv(to, &in, &left, &out, &room) == 0);              // J
    iconv_close(to);
    must(modfl(2.5L, &part) == 0.5L);                           // K
    must(sched_getaffinity(0, sizeof cpus, &cpus) == 0);        // L
    hidden_pass();
    return 0;
}

void *reads(void *arg)
{
    (void)arg;
    hidden_reach(1);
    sum = status + window + (long)sine + *(long *)&set + matches[0].rm_so + wide + (long)end + converted[0] + *(long *)&part + *(long *)&cpus; // B
    return 0;
}

int main(void)
{
    must(pipe(ends) == 0);
    must(write(ends[1], "abc", 3) == 3);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    both(asks, reads);
    must(WIFEXITED(status) && window == 3 && cosine < 1 && wide == 12 && *end == 'x' && strcmp(converted, "abc") == 0 && part == 2);
    return 0;
}
