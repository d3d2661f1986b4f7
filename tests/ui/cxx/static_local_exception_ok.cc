// The initialiser of a static local throws, and another thread tries it again: every try happens before the next.
// expect: clean
#include <stdexcept>
#include "start.h"

int tries;

struct Table {
    int value;
    Table()
    {
        if (tries++ == 0)
            throw std::runtime_error("not yet");
        value = 5;
    }
};

Table &table()
{
    static Table instance;
    return instance;
}

void *first(void *)
{
    try {
        table();
    } catch (const std::runtime_error &) {
        hidden_pass();
    }
    return nullptr;
}

void *second(void *)
{
    hidden_reach(1);
    must(table().value == 5);
    return nullptr;
}

int main()
{
    both(first, second);
    return tries == 2 ? 0 : 3;
}
