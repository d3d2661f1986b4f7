// LU decomposition without pivoting of a diagonally dominant matrix, in blocks owned by threads, with a barrier after the
// diagonal block, after its row and column, and after the update of the rest.
#include "kernel.h"

#define BLOCK 16

static long n, blocks;
static int threads;
static double *m;
static pthread_barrier_t barrier;

// Blocks are stored one after the other, so each is contiguous.
static double *block_at(long i, long j) { return m + (i * blocks + j) * BLOCK * BLOCK; }

static int owner(long i, long j) { return (int)((i + j * 3) % threads); }

static void factor_diagonal(double *d) {
    for (int k = 0; k < BLOCK; k++)
        for (int i = k + 1; i < BLOCK; i++) {
            d[i * BLOCK + k] /= d[k * BLOCK + k];
            double x = d[i * BLOCK + k];
            for (int j = k + 1; j < BLOCK; j++) d[i * BLOCK + j] -= x * d[k * BLOCK + j];
        }
}

// b = lower(d)^-1 * b
static void solve_row(const double *d, double *b) {
    for (int k = 0; k < BLOCK; k++)
        for (int i = k + 1; i < BLOCK; i++) {
            double x = d[i * BLOCK + k];
            for (int j = 0; j < BLOCK; j++) b[i * BLOCK + j] -= x * b[k * BLOCK + j];
        }
}

// b = b * upper(d)^-1
static void solve_column(const double *d, double *b) {
    for (int i = 0; i < BLOCK; i++)
        for (int k = 0; k < BLOCK; k++) {
            b[i * BLOCK + k] /= d[k * BLOCK + k];
            double x = b[i * BLOCK + k];
            for (int j = k + 1; j < BLOCK; j++) b[i * BLOCK + j] -= x * d[k * BLOCK + j];
        }
}

static void multiply_subtract(double *c, const double *a, const double *b) {
    for (int i = 0; i < BLOCK; i++)
        for (int k = 0; k < BLOCK; k++) {
            double x = a[i * BLOCK + k];
            for (int j = 0; j < BLOCK; j++) c[i * BLOCK + j] -= x * b[k * BLOCK + j];
        }
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    for (long k = 0; k < blocks; k++) {
        if (owner(k, k) == id) factor_diagonal(block_at(k, k));
        pthread_barrier_wait(&barrier);
        for (long j = k + 1; j < blocks; j++) {
            if (owner(k, j) == id) solve_row(block_at(k, k), block_at(k, j));
            if (owner(j, k) == id) solve_column(block_at(k, k), block_at(j, k));
        }
        pthread_barrier_wait(&barrier);
        for (long i = k + 1; i < blocks; i++)
            for (long j = k + 1; j < blocks; j++)
                if (owner(i, j) == id) multiply_subtract(block_at(i, j), block_at(i, k), block_at(k, j));
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 1024);
    blocks = (args.size + BLOCK - 1) / BLOCK;
    n = blocks * BLOCK;
    threads = args.threads;
    m = must_alloc((size_t)(n * n) * sizeof *m);
    uint64_t seed = 3;
    for (long i = 0; i < n * n; i++) m[i] = unit_random(&seed);
    for (long b = 0; b < blocks; b++)
        for (int i = 0; i < BLOCK; i++) block_at(b, b)[i * BLOCK + i] += (double)n;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    run_threads(threads, work);
    pthread_barrier_destroy(&barrier);
    uint64_t h = hash_doubles(m, (size_t)(n * n), 14695981039346656037u);
    free(m);
    return kernel_done(h);
}
