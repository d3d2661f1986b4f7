// A crash without a race is the program's own: its status stays.
// expect: clean
// exit: 139
// tsan: skip it reports the crash itself
#include "start.h"

int *volatile nowhere;

int main(void)
{
    *nowhere = 1;
    return 0;
}
