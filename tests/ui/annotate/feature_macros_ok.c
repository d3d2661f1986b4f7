// Code that asks for a thread sanitizer finds one.
// expect: clean
#include "start.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FOUND 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FOUND 1
#endif

int main(void)
{
#ifdef FOUND
    return 0;
#else
    return 3;
#endif
}
