// Dense matrix product, rows shared out among threads: long steps, unit stride, almost no synchronization.
#include "kernel.h"

static long n;
static int threads;
static double *a, *b, *c;

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    for (long i = part_begin(n, id, threads); i < part_end(n, id, threads); i++) {
        double *row = c + i * n;
        for (long k = 0; k < n; k++) {
            double x = a[i * n + k];
            const double *other = b + k * n;
            for (long j = 0; j < n; j++) row[j] += x * other[j];
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 512);
    n = args.size;
    threads = args.threads;
    size_t bytes = (size_t)(n * n) * sizeof(double);
    a = must_alloc(bytes);
    b = must_alloc(bytes);
    c = must_alloc(bytes);
    uint64_t seed = 1;
    for (long i = 0; i < n * n; i++) {
        a[i] = unit_random(&seed);
        b[i] = unit_random(&seed);
        c[i] = 0;
    }
    run_threads(threads, work);
    uint64_t h = hash_doubles(c, (size_t)(n * n), 14695981039346656037u);
    free(a);
    free(b);
    free(c);
    return kernel_done(h);
}
