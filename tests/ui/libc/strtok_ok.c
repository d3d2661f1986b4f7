// strtok keeps its place in a static buffer; strtok_r does not.
// expect: clean
#include <string.h>
#include "start.h"

char one[] = "a b", two[] = "c d";
char *found_one, *found_two;

void *first(void *arg)
{
    (void)arg;
    char *rest;
    found_one = strtok_r(one, " ", &rest);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    char *rest;
    found_two = strtok_r(two, " ", &rest);
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
