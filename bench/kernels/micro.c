// Nanoseconds per operation of single things that programs do, one line each: NAME NANOSECONDS.
//
// A second thread exists during all of it and sleeps in read(2), so that nothing can be left out because the program has
// one thread only. usage: micro [SCALE]   (100 is the normal amount of work)
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SMALL 512
#define LARGE (1 << 19)

static long scale = 100;
static uint64_t small[SMALL];
static uint64_t *large;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic long counter;
static long guarded;
static volatile uint64_t sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Ends the step, so that the next accesses are the first of a new one.
static void new_step(void) {
    pthread_mutex_lock(&mutex);
    guarded++;
    pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) uint64_t read_all(const uint64_t *p, long n) {
    uint64_t sum = 0;
    __asm__ volatile("" ::: "memory"); // keeps the call from being moved out of the caller's loop
#pragma clang loop vectorize(disable) unroll(disable)
    for (long i = 0; i < n; i++) sum += p[i];
    return sum;
}

static __attribute__((noinline)) void write_all(uint64_t *p, long n, uint64_t v) {
#pragma clang loop vectorize(disable) unroll(disable)
    for (long i = 0; i < n; i++) {
        p[i] = v;
        __asm__ volatile("" ::: "memory"); // keeps it a loop of stores, not a memset
    }
}

static __attribute__((noinline)) void bump(uint64_t *p) { *p += 1; }

static __attribute__((noinline)) void leaf(void) { __asm__ volatile("" ::: "memory"); }

static long read_same(long n) {
    for (long i = 0; i < n; i += SMALL) sink = read_all(small, SMALL);
    return n;
}
static long write_same(long n) {
    for (long i = 0; i < n; i += SMALL) write_all(small, SMALL, (uint64_t)i);
    return n;
}
static long read_first(long n) {
    for (long i = 0; i < n; i += SMALL) {
        new_step();
        sink = read_all(small, SMALL);
    }
    return n;
}
static long write_first(long n) {
    for (long i = 0; i < n; i += SMALL) {
        new_step();
        write_all(small, SMALL, (uint64_t)i);
    }
    return n;
}
static long write_first_large(long n) {
    long done = 0;
    while (done < n) {
        new_step();
        write_all(large, LARGE, (uint64_t)done);
        done += LARGE;
    }
    return done;
}
static long read_same_large(long n) {
    long done = 0;
    while (done < n) {
        sink = read_all(large, LARGE);
        done += LARGE;
    }
    return done;
}
static long lock_write_unlock(long n) {
    n /= 20;
    for (long i = 0; i < n; i++) {
        pthread_mutex_lock(&mutex);
        guarded++;
        pthread_mutex_unlock(&mutex);
    }
    return n;
}
static long rdlock_read_unlock(long n) {
    n /= 20;
    uint64_t sum = 0;
    for (long i = 0; i < n; i++) {
        pthread_rwlock_rdlock(&rwlock);
        sum += small[i % SMALL];
        pthread_rwlock_unlock(&rwlock);
    }
    sink = sum;
    return n;
}
static long add_relaxed(long n) {
    n /= 8;
    for (long i = 0; i < n; i++) atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
    return n;
}
static long add_acq_rel(long n) {
    n /= 8;
    for (long i = 0; i < n; i++) atomic_fetch_add_explicit(&counter, 1, memory_order_acq_rel);
    return n;
}
static long load_acquire(long n) {
    n /= 4;
    long sum = 0;
    for (long i = 0; i < n; i++) sum += atomic_load_explicit(&counter, memory_order_acquire);
    sink = (uint64_t)sum;
    return n;
}
static long store_release(long n) {
    n /= 8;
    for (long i = 0; i < n; i++) atomic_store_explicit(&counter, i, memory_order_release);
    return n;
}
static long malloc_free(long n) {
    n /= 20;
    for (long i = 0; i < n; i++) {
        uint64_t *p = malloc(48);
        if (!p) exit(2);
        *(volatile uint64_t *)p = (uint64_t)i;
        free(p);
    }
    return n;
}
static long call_access(long n) {
    n /= 2;
    for (long i = 0; i < n; i++) bump(&small[i % SMALL]);
    return n;
}
static long call_only(long n) {
    n /= 2;
    for (long i = 0; i < n; i++) leaf();
    return n;
}
static long copy_256(long n) {
    n /= 16;
    for (long i = 0; i < n; i++) {
        memcpy(large + (i % 64) * 64, large + 8192 + (i % 64) * 64, 256);
        __asm__ volatile("" ::: "memory");
    }
    return n;
}

static void *nothing(void *arg) { return arg; }

static long create_join(long n) {
    n = n / 20000 + 1;
    for (long i = 0; i < n; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, nothing, NULL) != 0) exit(2);
        pthread_join(t, NULL);
    }
    return n;
}

static void *sleeper(void *arg) {
    char c;
    while (read(*(int *)arg, &c, 1) < 0) {
    }
    return NULL;
}

static void measure(const char *name, long (*body)(long)) {
    long n = 40000 * scale;
    body(n / 10 + SMALL);
    double best = 1e300;
    for (int i = 0; i < 3; i++) {
        double start = now();
        long done = body(n / 3);
        double took = (now() - start) / (double)done;
        if (took < best) best = took;
    }
    printf("%s %.3f\n", name, best);
}

int main(int argc, char **argv) {
    if (argc > 1) scale = strtol(argv[1], NULL, 10);
    if (scale < 1) scale = 1;
    int ends[2];
    pthread_t t;
    large = calloc(LARGE, sizeof *large);
    if (!large || pipe(ends) != 0 || pthread_create(&t, NULL, sleeper, &ends[0]) != 0) return 2;
    measure("read8-same-step", read_same);
    measure("write8-same-step", write_same);
    measure("read8-first-in-step", read_first);
    measure("write8-first-in-step", write_first);
    measure("write8-first-in-step-4MB", write_first_large);
    measure("read8-same-step-4MB", read_same_large);
    measure("lock-write-unlock", lock_write_unlock);
    measure("rdlock-read-unlock", rdlock_read_unlock);
    measure("fetch_add-relaxed", add_relaxed);
    measure("fetch_add-acq_rel", add_acq_rel);
    measure("load-acquire", load_acquire);
    measure("store-release", store_release);
    measure("malloc-write-free", malloc_free);
    measure("call", call_only);
    measure("call-access", call_access);
    measure("memcpy-256", copy_256);
    measure("create-join", create_join);
    if (write(ends[1], "x", 1) != 1) return 2;
    pthread_join(t, NULL);
    free(large);
    return 0;
}
