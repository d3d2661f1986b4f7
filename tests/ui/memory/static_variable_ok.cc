// A static member and a variable in a namespace are named as the program spells them.
// expect: clean
#include "start.h"

struct Bank {
    static int total;
};
int Bank::total;
namespace deep {
int padding[16];
int inside;
}
int seen;

void *first(void *)
{
    hidden_pass();
    Bank::total = 1;
    deep::inside = 1;
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    return nullptr;
}

int main()
{
    both(first, second);
}
