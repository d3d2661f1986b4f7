// __tsan_on_report is called for each report, and for none without a race.
// expect: data-race global=value op=write,write lines=A,B
// stdout: reported
#include <stdio.h>
#include "start.h"

int value;
int reports;

void __tsan_on_report(void *report)
{
    (void)report;
    reports++;
}


void *first(void *arg)
{
    (void)arg;
    value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    value = 2; // B
    return 0;
}

int main(void)
{
    both(first, second);
    if (reports == 1)
        puts("reported");
    return reports == 0 ? 0 : 1;
}
