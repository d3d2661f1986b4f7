// A static member and a variable in a namespace are named as the program spells them.
// expect: data-race global=Bank::total op=write,read lines=A,C
// expect: data-race global=deep::inside op=write,read lines=B,D
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
    Bank::total = 1;  // A
    deep::inside = 1; // B
    hidden_pass();
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    seen = Bank::total;   // C
    seen += deep::inside; // D
    return nullptr;
}

int main()
{
    both(first, second);
}
