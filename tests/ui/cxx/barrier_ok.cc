// std::barrier with a completion function.
// expect: clean
// std: c++20
#include <barrier>
#include "start.h"

int cells[2];
int seen[2];
int phases;

void completed() noexcept
{
    phases++;
}

std::barrier<void (*)() noexcept> meeting(2, completed);

void *left(void *)
{
    cells[0] = 1; // A
    meeting.arrive_and_wait();
    seen[0] = cells[1];
    meeting.arrive_and_wait();
    return nullptr;
}

void *right(void *)
{
    cells[1] = 1;
    meeting.arrive_and_wait();
    seen[1] = cells[0];
    meeting.arrive_and_wait();
    return nullptr;
}

int main()
{
    both(left, right);
    return phases == 2 ? 0 : 3;
}
