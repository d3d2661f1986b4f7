// Loops read every other element, of several sizes, while another thread writes those between.
// flags: -O3
// expect: clean
#include "start.h"

#define N 200
volatile long many = N;

#define EVERY_OTHER(T) \
    static T T##s[N]; \
    __attribute__((noinline)) static long sum_##T(const T *of, long count) \
    { \
        long sum = 0; \
        for (long i = 0; i < count; i += 2) \
            sum += (long)of[i]; \
        return sum; \
    } \
    static void between_##T(void) \
    { \
        for (int i = 1; i < N; i += 2) \
            ((volatile T *)T##s)[i] = 1; \
    }

EVERY_OTHER(char)
EVERY_OTHER(short)
EVERY_OTHER(int)
EVERY_OTHER(long)
EVERY_OTHER(float)
EVERY_OTHER(double)

void *first(void *arg)
{
    (void)arg;
    must(sum_char(chars, many) + sum_short(shorts, many) + sum_int(ints, many) == 0);
    must(sum_long(longs, many) + sum_float(floats, many) + sum_double(doubles, many) == 0);
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    between_char();
    between_short();
    between_int();
    between_long();
    between_float();
    between_double();
    return 0;
}

int main(void)
{
    both(first, second);
    return 0;
}
