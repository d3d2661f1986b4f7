// All-pairs n-body: every thread reads all bodies and writes its own, two barriers a step.
#include "kernel.h"

#define STEPS 6

struct body {
    double position[3], velocity[3], force[3], mass;
};

static long n;
static int threads;
static struct body *bodies;
static pthread_barrier_t barrier;

static void add_force(struct body *on, const struct body *from) {
    double d[3], square = 1e-3;
    for (int k = 0; k < 3; k++) {
        d[k] = from->position[k] - on->position[k];
        square += d[k] * d[k];
    }
    double scale = from->mass / (square * __builtin_sqrt(square));
    for (int k = 0; k < 3; k++) on->force[k] += d[k] * scale;
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    long begin = part_begin(n, id, threads), end = part_end(n, id, threads);
    for (int step = 0; step < STEPS; step++) {
        for (long i = begin; i < end; i++) {
            memset(bodies[i].force, 0, sizeof bodies[i].force);
            for (long j = 0; j < n; j++)
                if (j != i) add_force(&bodies[i], &bodies[j]);
        }
        pthread_barrier_wait(&barrier);
        for (long i = begin; i < end; i++)
            for (int k = 0; k < 3; k++) {
                bodies[i].velocity[k] += bodies[i].force[k] * 1e-4;
                bodies[i].position[k] += bodies[i].velocity[k] * 1e-4;
            }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 1600);
    n = args.size;
    threads = args.threads;
    bodies = must_alloc((size_t)n * sizeof *bodies);
    uint64_t seed = 11;
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            bodies[i].position[k] = unit_random(&seed);
            bodies[i].velocity[k] = 0;
            bodies[i].force[k] = 0;
        }
        bodies[i].mass = unit_random(&seed) / (double)n;
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    run_threads(threads, work);
    pthread_barrier_destroy(&barrier);
    uint64_t h = 14695981039346656037u;
    for (long i = 0; i < n; i++) h = hash_doubles(bodies[i].position, 3, h);
    free(bodies);
    return kernel_done(h);
}
