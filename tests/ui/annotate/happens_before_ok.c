// AnnotateHappensBefore and AnnotateHappensAfter.
// expect: clean
#include "start.h"

void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);
int data;
int seen;

void *writer(void *arg)
{
    (void)arg;
    data = 1;
    AnnotateHappensBefore(__FILE__, __LINE__, &data);
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
