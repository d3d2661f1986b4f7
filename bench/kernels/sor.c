// Red-black successive over-relaxation on a SIZE x SIZE grid: neighbours' rows are read across threads, a barrier after
// each colour.
#include "kernel.h"

#define SWEEPS 20

static long n;
static int threads;
static double *grid;
static pthread_barrier_t barrier;

static void relax(long row, long first) {
    double *here = grid + row * n;
    const double *above = here - n, *below = here + n;
    for (long j = first; j < n - 1; j += 2)
        here[j] += 1.2 * ((above[j] + below[j] + here[j - 1] + here[j + 1]) * 0.25 - here[j]);
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    long begin = 1 + part_begin(n - 2, id, threads), end = 1 + part_end(n - 2, id, threads);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int colour = 0; colour < 2; colour++) {
            for (long i = begin; i < end; i++) relax(i, 1 + ((i + colour) & 1));
            pthread_barrier_wait(&barrier);
        }
    return NULL;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 1500);
    n = args.size < 4 ? 4 : args.size;
    threads = args.threads;
    grid = must_alloc((size_t)(n * n) * sizeof *grid);
    uint64_t seed = 13;
    for (long i = 0; i < n * n; i++) grid[i] = unit_random(&seed);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    run_threads(threads, work);
    pthread_barrier_destroy(&barrier);
    uint64_t h = hash_doubles(grid, (size_t)(n * n), 14695981039346656037u);
    free(grid);
    return kernel_done(h);
}
