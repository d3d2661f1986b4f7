// Parallel radix sort of SIZE 32-bit keys: a private histogram per thread, then writes scattered over the whole array.
#include "kernel.h"

#define DIGITS 256

static long n;
static int threads;
static uint32_t *from, *to;
static long counts[MAX_THREADS][DIGITS];
static pthread_barrier_t barrier;

static void prefix_sums(void) {
    long sum = 0;
    for (int d = 0; d < DIGITS; d++)
        for (int t = 0; t < threads; t++) {
            long c = counts[t][d];
            counts[t][d] = sum;
            sum += c;
        }
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    long begin = part_begin(n, id, threads), end = part_end(n, id, threads);
    for (int shift = 0; shift < 32; shift += 8) {
        long *mine = counts[id];
        memset(mine, 0, sizeof counts[id]);
        for (long i = begin; i < end; i++) mine[(from[i] >> shift) & (DIGITS - 1)]++;
        pthread_barrier_wait(&barrier);
        if (id == 0) prefix_sums();
        pthread_barrier_wait(&barrier);
        for (long i = begin; i < end; i++) {
            uint32_t key = from[i];
            to[mine[(key >> shift) & (DIGITS - 1)]++] = key;
        }
        pthread_barrier_wait(&barrier);
        if (id == 0) {
            uint32_t *t = from;
            from = to;
            to = t;
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 4000000);
    n = args.size;
    threads = args.threads;
    from = must_alloc((size_t)n * sizeof *from);
    to = must_alloc((size_t)n * sizeof *to);
    uint64_t seed = 5;
    for (long i = 0; i < n; i++) from[i] = (uint32_t)next_random(&seed);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    run_threads(threads, work);
    pthread_barrier_destroy(&barrier);
    uint64_t h = 14695981039346656037u;
    for (long i = 0; i < n; i++) {
        if (i > 0 && from[i - 1] > from[i]) {
            fprintf(stderr, "not sorted at %ld\n", i);
            return 2;
        }
        h = (h ^ from[i]) * 0x100000001b3u;
    }
    free(from);
    free(to);
    return kernel_done(h);
}
