// The memory of a large block that was hardly touched is used again, whole and in parts, by threads that know nothing of the free.
// expect: clean
#include "start.h"

char *block;
char *next;
char *parts[20];
int seen;

void *freer(void *arg)
{
    (void)arg;
    free(block);
    hidden_pass();
    hidden_reach(3);
    return 0;
}

void *user(void *arg)
{
    (void)arg;
    hidden_reach(1);
    for (int i = 0; i < 20; i++) {
        parts[i] = malloc(2000);
        for (int k = 0; k < 2000; k += 100)
            parts[i][k] = 1;
    }
    for (int i = 0; i < 20; i++)
        free(parts[i]);
    char *again = malloc(60000);
    for (int k = 0; k < 60000; k += 1000)
        again[k] = 1;
    free(again);
    hidden_pass();
    return 0;
}

void *third(void *arg)
{
    (void)arg;
    hidden_reach(2);
    char *whole = malloc(60000);
    for (int k = 500; k < 60000; k += 1000)
        whole[k] = 1;
    free(whole);
    hidden_pass();
    return 0;
}

int main(void)
{
    block = malloc(60000);
    next = malloc(64);
    *block = 1;
    three(freer, user, third);
    free(next);
    return 0;
}
