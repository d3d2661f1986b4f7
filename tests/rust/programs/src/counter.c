/* A counter in C: the caller has to hold a lock. */
static long counter;

long counter_add(long by) {
    counter += by;
    return counter;
}
