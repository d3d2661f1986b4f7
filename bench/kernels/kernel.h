// What every benchmark kernel shares: arguments, threads, random numbers and the checksum line.
//
// A kernel is a correct program: no data race, and a checksum that depends only on SIZE, never on the number of threads or
// the schedule. The runner compares the checksum of every tool with the native one.
#ifndef DEADHEAT_BENCH_KERNEL_H
#define DEADHEAT_BENCH_KERNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64

struct kernel_args {
    long size;
    int threads;
};

static inline struct kernel_args kernel_args(int argc, char **argv, long default_size) {
    struct kernel_args a = {default_size, 4};
    if (argc > 1) a.size = strtol(argv[1], NULL, 10);
    if (argc > 2) a.threads = (int)strtol(argv[2], NULL, 10);
    if (a.size < 1 || a.threads < 1 || a.threads > MAX_THREADS) {
        fprintf(stderr, "usage: %s [SIZE [THREADS 1..%d]]\n", argv[0], MAX_THREADS);
        exit(2);
    }
    return a;
}

// Runs `body` in `threads` threads with the numbers 0.. as argument, and waits for all.
static inline void run_threads(int threads, void *(*body)(void *)) {
    pthread_t t[MAX_THREADS];
    for (intptr_t i = 0; i < threads; i++) {
        if (pthread_create(&t[i], NULL, body, (void *)i) != 0) {
            perror("pthread_create");
            exit(2);
        }
    }
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
}

// The part of 0..n that thread `id` of `threads` works on.
static inline long part_begin(long n, int id, int threads) { return n * id / threads; }
static inline long part_end(long n, int id, int threads) { return n * (id + 1) / threads; }

static inline uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// A small generator whose state lives in the caller.
static inline uint64_t next_random(uint64_t *state) { return mix64((*state)++); }

static inline double unit_random(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

static inline void *must_alloc(size_t bytes) {
    void *p = malloc(bytes);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

static inline uint64_t hash_bytes(const void *data, size_t n, uint64_t h) {
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

// Doubles are hashed rounded, so that a libm or an emulated FPU that differs in the last bits is no error.
static inline uint64_t hash_doubles(const double *v, size_t n, uint64_t h) {
    for (size_t i = 0; i < n; i++) {
        float f = (float)v[i];
        if (f == 0) f = 0;
        h = hash_bytes(&f, sizeof f, h);
    }
    return h;
}

static inline int kernel_done(uint64_t checksum) {
    printf("checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}

#endif
