// Accesses between AnnotateIgnore*Begin and End are not looked at.
// expect: clean
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
    value = 1;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    seen = value;
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
