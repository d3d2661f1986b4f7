// Accesses between AnnotateIgnore*Begin and End are not looked at.
// expect: data-race global=value op=write,read lines=A,B
#include "start.h"

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
int value;
int seen;

void *first(void *arg)
{
    (void)arg;
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    value = 1; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    seen = value; // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
