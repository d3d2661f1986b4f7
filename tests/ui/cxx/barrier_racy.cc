// std::barrier with a completion function.
// std: c++20
// expect: data-race global=cells op=write,read lines=A,B
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
    hidden_pass();
    meeting.arrive_and_wait();
    seen[0] = cells[1];
    meeting.arrive_and_wait();
    return nullptr;
}

void *right(void *)
{
    cells[1] = 1;
    hidden_reach(1);
    seen[1] = cells[0]; // B
    meeting.arrive_and_wait();
    meeting.arrive_and_wait();
    return nullptr;
}

int main()
{
    both(left, right);
    return phases == 2 ? 0 : 3;
}
