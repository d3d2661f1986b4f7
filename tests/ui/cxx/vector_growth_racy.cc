// One thread grows a vector while another reads an element of the old block.
// expect: use-after-free op=read,free lines=A,B
#include <mutex>
#include <vector>
#include "start.h"

std::vector<int> numbers(4, 7);
int seen;

void *reader(void *)
{
    int *place = (int *)hidden_peek(&numbers);
    seen = place[2]; // A
    hidden_pass();
    return nullptr;
}

void *grower(void *)
{
    hidden_reach(1);
    numbers.reserve(100000); // B
    return nullptr;
}

int main()
{
    both(reader, grower);
}
