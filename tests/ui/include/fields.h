// A cell of fields of all sizes, touched in step after step. No step's end tells what comes after it.
#ifndef FIELDS_H
#define FIELDS_H

#include "start.h"

_Alignas(8) struct {
    char one;
    char other;
    short two;
    int four;
} fields;
int seen;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// A new step.
static void step(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void touch_all_but_other(int i)
{
    fields.one = (char)i;
    seen += fields.four;
    step();
    fields.two = (short)i;
    seen += fields.one;
    step();
    fields.four = i;
    seen += fields.two;
    fields.two++;
    fields.one++;
    step();
    seen += fields.four + fields.two + fields.one;
}

__attribute__((unused)) static void touch_all(int i)
{
    touch_all_but_other(i);
    fields.other = (char)i;
    step();
    seen += fields.other;
}

#endif
