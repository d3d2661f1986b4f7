// A search tree read without locks: child pointers are atomics loaded with acquire order; writers take a mutex and publish
// with release order. Nothing is freed while readers run.
#include "kernel.h"

#define KEYS 50000

struct node {
    _Atomic(struct node *) child[2];
    uint64_t key;
    uint64_t value;
};

static long n;
static int threads;
static _Atomic(struct node *) root;
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sums[MAX_THREADS][8];

static void insert(uint64_t key, uint64_t value) {
    _Atomic(struct node *) *at = &root;
    struct node *here;
    while ((here = atomic_load_explicit(at, memory_order_relaxed)) != NULL) {
        if (here->key == key) return;
        at = &here->child[key > here->key];
    }
    struct node *fresh = must_alloc(sizeof *fresh);
    atomic_init(&fresh->child[0], NULL);
    atomic_init(&fresh->child[1], NULL);
    fresh->key = key;
    fresh->value = value;
    atomic_store_explicit(at, fresh, memory_order_release);
}

static uint64_t look_up(uint64_t key) {
    struct node *here = atomic_load_explicit(&root, memory_order_acquire);
    while (here && here->key != key)
        here = atomic_load_explicit(&here->child[key > here->key], memory_order_acquire);
    return here ? here->value : 0;
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    uint64_t sum = 0;
    for (long i = part_begin(n, id, threads); i < part_end(n, id, threads); i++) {
        uint64_t r = mix64((uint64_t)i + 77);
        if (i % 50 == 0) {
            pthread_mutex_lock(&writers);
            insert(mix64(r % 10000 + KEYS), r % 10000);
            pthread_mutex_unlock(&writers);
        } else {
            sum += look_up(mix64(r % KEYS));
        }
    }
    sums[id][0] = sum;
    return NULL;
}

static uint64_t drop(struct node *at) {
    if (!at) return 0;
    uint64_t sum = at->key * 3 + at->value;
    for (int side = 0; side < 2; side++) sum += drop(atomic_load_explicit(&at->child[side], memory_order_relaxed));
    free(at);
    return sum;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 500000);
    n = args.size;
    threads = args.threads;
    for (uint64_t k = 0; k < KEYS; k++) insert(mix64(k), k);
    run_threads(threads, work);
    uint64_t sum = drop(atomic_load(&root));
    for (int i = 0; i < threads; i++) sum += sums[i][0];
    return kernel_done(sum);
}
