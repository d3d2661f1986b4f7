// strtok keeps its place in a static buffer; strtok_r does not.
// expect: data-race lines=A,B
// tsan: skip its runtime does not know the static state of strtok
#include <string.h>
#include "start.h"

char one[] = "a b", two[] = "c d";
char *found_one, *found_two;

void *first(void *arg)
{
    (void)arg;
    found_one = strtok(one, " "); // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    found_two = strtok(two, " "); // B
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
