// AnnotateHappensBefore and AnnotateHappensAfter.
// expect: data-race global=data op=write,read lines=A,B
#include "start.h"

void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);
int data;
int seen;

void *writer(void *arg)
{
    (void)arg;
    AnnotateHappensBefore(__FILE__, __LINE__, &data);
    data = 1; // A
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    AnnotateHappensAfter(__FILE__, __LINE__, &data);
    seen = data; // B
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
