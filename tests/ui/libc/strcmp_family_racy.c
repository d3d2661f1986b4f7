// strcmp, strncmp, strcasecmp, strchr, strstr, strspn read their strings.
// flags: -fno-builtin
// expect: data-race global=text op=write,read lines=A,B
#include <string.h>
#include <strings.h>
#include "start.h"

char text[32] = "abcdef";
int seen;

__attribute__((noinline)) void look(void)
{
    seen += strcmp(text, "abcdef") + strncmp(text, "abcxxx", 3) + strcasecmp(text, "ABCDEF") + (strchr(text, 'f') != 0) + (strrchr(text, 'a') != 0) + (strstr(text, "cd") != 0) + (int)strspn(text, "abc") + (int)strcspn(text, "f") + (strpbrk(text, "e") != 0) + (int)strnlen(text, 3); // B
}

void *first(void *arg)
{
    (void)arg;
    text[1] = 'b'; // A
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    look();
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
