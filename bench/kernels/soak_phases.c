// One thing over and over for SECONDS, of which nothing may be remembered for good. Correct, so a report is an error.
// Prints the resident memory now and then; the runner checks that it stays flat.
//
// usage: soak_phases SECONDS PHASE
//   joined     short threads that are joined
//   detached   short threads that nobody waits for, each with a lock and a counter
//   mutexes    mutexes that are made, used together, and destroyed, or whose memory is just freed
//   calls      recursion by ever new paths, with accesses and allocations at the ends of them
#include "kernel.h"

#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long value;
static _Atomic long running, counted;

static long resident_kib(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long total = 0, resident = 0;
    if (!f || fscanf(f, "%ld %ld", &total, &resident) != 2) exit(2);
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *brief(void *arg) {
    long *own = must_alloc(64);
    *own = (long)(uintptr_t)arg;
    pthread_mutex_lock(&lock);
    value += *own;
    pthread_mutex_unlock(&lock);
    free(own);
    atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed);
    return NULL;
}

static void *loose(void *arg) {
    brief(arg);
    atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
    return NULL;
}

static long joined(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, brief, (void *)1) != 0) exit(2);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 4;
}

static long detached(void) {
    for (int i = 0; i < 4; i++) {
        // No order comes of it: only so that not all of them run at once.
        while (atomic_load_explicit(&running, memory_order_relaxed) >= 8) sched_yield();
        pthread_t thread;
        atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
        if (pthread_create(&thread, NULL, loose, (void *)1) != 0) exit(2);
        pthread_detach(thread);
    }
    return 4;
}

struct pair {
    pthread_mutex_t outer, inner;
    long value;
};

static long mutexes(void) {
    static long round;
    for (int i = 0; i < 64; i++) {
        struct pair *p = must_alloc(sizeof *p + (size_t)(round % 7) * 64);
        pthread_mutex_init(&p->outer, NULL);
        pthread_mutex_init(&p->inner, NULL);
        p->value = 0;
        pthread_mutex_lock(&p->outer);
        pthread_mutex_lock(&p->inner);
        p->value++;
        pthread_mutex_unlock(&p->inner);
        pthread_mutex_unlock(&p->outer);
        if (round++ % 2) {
            pthread_mutex_destroy(&p->inner);
            pthread_mutex_destroy(&p->outer);
        }
        free(p);
    }
    return 64;
}

static uint64_t seed = 88172645463325252u;
static long touched[64];

static __attribute__((noinline)) long left(int depth);
static __attribute__((noinline)) long right(int depth);

// Two calls in each function: four ways on at each level.
static __attribute__((noinline)) long down(int depth) {
    uint64_t r = next_random(&seed);
    touched[depth % 64] += (long)r;
    if (depth == 0) {
        static char *volatile kept;
        char *p = must_alloc(16 + r % 100);
        kept = p;
        p[0] = (char)r;
        long c = p[0];
        free(p);
        return c;
    }
    if (r & 1) return left(depth - 1) + 1;
    return right(depth - 1) + 2;
}

static long left(int depth) {
    if (next_random(&seed) & 1) return down(depth) + 1;
    return down(depth) + 2;
}

static long right(int depth) {
    if (next_random(&seed) & 1) return down(depth) + 3;
    return down(depth) + 4;
}

static long calls(void) {
    volatile long sum = 0;
    for (int i = 0; i < 16; i++) sum += down(60);
    return 16;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    long seconds = atol(argv[1]);
    long (*phase)(void) = !strcmp(argv[2], "joined")     ? joined
                          : !strcmp(argv[2], "detached") ? detached
                          : !strcmp(argv[2], "mutexes")  ? mutexes
                          : !strcmp(argv[2], "calls")    ? calls
                                                         : NULL;
    if (!phase) return 2;
    time_t start = time(NULL), last = start - 1;
    long done = 0;
    for (time_t t = start; t - start < seconds; t = time(NULL)) {
        for (int i = 0; i < 10; i++) done += phase();
        if (t != last) {
            printf("rss %ld %ld %ld\n", (long)(t - start), resident_kib(), done);
            fflush(stdout);
            last = t;
        }
    }
    while (atomic_load_explicit(&running, memory_order_relaxed) > 0) sched_yield();
    printf("rounds %ld %s\n", done, argv[2]);
    return 0;
}
