// A chained hash table with one mutex for each group of buckets: short critical sections, nodes from malloc.
#include "kernel.h"

#define BUCKETS 16384
#define LOCKS 64

struct node {
    struct node *next;
    uint64_t key, value;
};

static long n;
static int threads;
static struct node *buckets[BUCKETS];
static pthread_mutex_t locks[LOCKS];
static uint64_t sums[MAX_THREADS][8];

static struct node *find(struct node *list, uint64_t key) {
    while (list && list->key != key) list = list->next;
    return list;
}

static void add(uint64_t key, uint64_t amount) {
    size_t b = mix64(key) % BUCKETS;
    pthread_mutex_t *lock = &locks[b % LOCKS];
    pthread_mutex_lock(lock);
    struct node *found = find(buckets[b], key);
    if (found) {
        found->value += amount;
    } else {
        struct node *fresh = must_alloc(sizeof *fresh);
        fresh->key = key;
        fresh->value = amount;
        fresh->next = buckets[b];
        buckets[b] = fresh;
    }
    pthread_mutex_unlock(lock);
}

static int contains(uint64_t key) {
    size_t b = mix64(key) % BUCKETS;
    pthread_mutex_t *lock = &locks[b % LOCKS];
    pthread_mutex_lock(lock);
    int yes = find(buckets[b], key) != NULL;
    pthread_mutex_unlock(lock);
    return yes;
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    uint64_t misses = 0;
    // Work items, not threads, make the random numbers: the result does not depend on the number of threads.
    for (long i = part_begin(n, id, threads); i < part_end(n, id, threads); i++) {
        uint64_t r = mix64((uint64_t)i);
        add(r % 40000, r >> 40);
        misses += (uint64_t)!contains((r >> 8) % 40000 + 1000000);
    }
    sums[id][0] = misses;
    return NULL;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 700000);
    n = args.size;
    threads = args.threads;
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], NULL);
    run_threads(threads, work);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++) sum += sums[i][0];
    for (size_t b = 0; b < BUCKETS; b++)
        while (buckets[b]) {
            struct node *dead = buckets[b];
            buckets[b] = dead->next;
            sum += mix64(dead->key ^ dead->value * 31);
            free(dead);
        }
    for (int i = 0; i < LOCKS; i++) pthread_mutex_destroy(&locks[i]);
    return kernel_done(sum);
}
