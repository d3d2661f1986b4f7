// Iterative radix-2 FFT of 2^SIZE complex numbers: a barrier after each stage, strides that double.
#include "kernel.h"

struct complex_number {
    double re, im;
};

static long n;
static int bits, threads;
static struct complex_number *data, *roots;
static pthread_barrier_t barrier;

static long reversed(long x) {
    long r = 0;
    for (int i = 0; i < bits; i++) {
        r = (r << 1) | (x & 1);
        x >>= 1;
    }
    return r;
}

// One butterfly stage over the part of the n/2 butterflies that belongs to this thread.
static void stage(long half, long from, long to) {
    long stride = n / (2 * half);
    for (long k = from; k < to; k++) {
        long low = (k / half) * 2 * half + (k % half);
        struct complex_number w = roots[(k % half) * stride];
        struct complex_number *p = &data[low], *q = &data[low + half];
        double re = q->re * w.re - q->im * w.im;
        double im = q->re * w.im + q->im * w.re;
        q->re = p->re - re;
        q->im = p->im - im;
        p->re += re;
        p->im += im;
    }
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    for (long i = part_begin(n, id, threads); i < part_end(n, id, threads); i++) {
        long j = reversed(i);
        if (i < j) {
            // The pair (i, j) belongs to the thread that has i: no other thread touches either.
            struct complex_number t = data[i];
            data[i] = data[j];
            data[j] = t;
        }
    }
    pthread_barrier_wait(&barrier);
    for (long half = 1; half < n; half *= 2) {
        stage(half, part_begin(n / 2, id, threads), part_end(n / 2, id, threads));
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

// exp(-2 pi i k / n) by repeated halving of the angle, so that no libm is involved.
static void fill_roots(void) {
    double cosine[64], sine[64];
    double c = -1, s = 0;
    for (int level = 0; level < bits; level++) {
        cosine[level] = c;
        sine[level] = s;
        double next_c = __builtin_sqrt((1 + c) / 2);
        double next_s = level == 0 ? -1 : s / (2 * next_c);
        if (level == 0) next_c = 0;
        c = next_c;
        s = next_s;
    }
    roots[0].re = 1;
    roots[0].im = 0;
    for (long k = 1; k < n / 2; k++) {
        int top = 63 - __builtin_clzl((unsigned long)k);
        int level = bits - 1 - top;
        struct complex_number rest = roots[k - (1L << top)];
        roots[k].re = rest.re * cosine[level] - rest.im * sine[level];
        roots[k].im = rest.re * sine[level] + rest.im * cosine[level];
    }
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 19);
    bits = (int)args.size;
    n = 1L << bits;
    threads = args.threads;
    data = must_alloc((size_t)n * sizeof *data);
    roots = must_alloc((size_t)n * sizeof *roots);
    fill_roots();
    uint64_t seed = 7;
    for (long i = 0; i < n; i++) {
        data[i].re = unit_random(&seed) - 0.5;
        data[i].im = unit_random(&seed) - 0.5;
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    run_threads(threads, work);
    pthread_barrier_destroy(&barrier);
    uint64_t h = hash_doubles(&data[0].re, (size_t)(2 * n), 14695981039346656037u);
    free(data);
    free(roots);
    return kernel_done(h);
}
