// A binary search tree behind a reader-writer lock: 98 look-ups for 2 insertions.
#include "kernel.h"

#define KEYS 50000

struct node {
    struct node *left, *right;
    uint64_t key, value;
};

static long n;
static int threads;
static struct node *root;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t sums[MAX_THREADS][8];

// Keys are well mixed, so the tree stays shallow without rebalancing.
static void insert(uint64_t key, uint64_t value) {
    struct node **at = &root;
    while (*at) {
        if ((*at)->key == key) return;
        at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    }
    struct node *fresh = must_alloc(sizeof *fresh);
    fresh->left = fresh->right = NULL;
    fresh->key = key;
    fresh->value = value;
    *at = fresh;
}

static uint64_t look_up(uint64_t key) {
    const struct node *at = root;
    while (at && at->key != key) at = key < at->key ? at->left : at->right;
    return at ? at->value : 0;
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    uint64_t sum = 0;
    for (long i = part_begin(n, id, threads); i < part_end(n, id, threads); i++) {
        uint64_t r = mix64((uint64_t)i + 999);
        if (i % 50 == 0) {
            pthread_rwlock_wrlock(&lock);
            insert(mix64(r % 10000 + KEYS), r % 10000);
            pthread_rwlock_unlock(&lock);
        } else {
            // Only keys from the start are looked up, so the sum does not depend on the schedule.
            pthread_rwlock_rdlock(&lock);
            sum += look_up(mix64(r % KEYS));
            pthread_rwlock_unlock(&lock);
        }
    }
    sums[id][0] = sum;
    return NULL;
}

static uint64_t drop(struct node *at) {
    if (!at) return 0;
    uint64_t sum = at->key * 3 + at->value + drop(at->left) + drop(at->right);
    free(at);
    return sum;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 600000);
    n = args.size;
    threads = args.threads;
    for (uint64_t k = 0; k < KEYS; k++) insert(mix64(k), k);
    run_threads(threads, work);
    uint64_t sum = drop(root);
    for (int i = 0; i < threads; i++) sum += sums[i][0];
    return kernel_done(sum);
}
