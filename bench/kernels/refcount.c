// Shared documents with atomic reference counts, as in C++'s shared_ptr: threads copy a reference, read the document, drop
// it, and now and then replace it; the last one out frees it.
#include "kernel.h"

#define SLOTS 64
#define WORDS 8

struct document {
    _Atomic long references;
    uint64_t words[WORDS];
};

struct slot {
    pthread_spinlock_t lock; // guards only the pointer, as std::atomic<shared_ptr> does
    struct document *document;
};

static long n;
static int threads;
static struct slot slots[SLOTS];
static uint64_t sums[MAX_THREADS][8];
static _Atomic long alive;

static struct document *make_document(uint64_t number) {
    struct document *d = must_alloc(sizeof *d);
    atomic_init(&d->references, 1);
    for (int w = 0; w < WORDS; w++) d->words[w] = number;
    atomic_fetch_add_explicit(&alive, 1, memory_order_relaxed);
    return d;
}

static struct document *retain(struct document *d) {
    atomic_fetch_add_explicit(&d->references, 1, memory_order_relaxed);
    return d;
}

static void release(struct document *d) {
    if (atomic_fetch_sub_explicit(&d->references, 1, memory_order_acq_rel) == 1) {
        atomic_fetch_sub_explicit(&alive, 1, memory_order_relaxed);
        free(d);
    }
}

static struct document *get(struct slot *s) {
    pthread_spin_lock(&s->lock);
    struct document *d = retain(s->document);
    pthread_spin_unlock(&s->lock);
    return d;
}

static void replace(struct slot *s, struct document *fresh) {
    pthread_spin_lock(&s->lock);
    struct document *old = s->document;
    s->document = fresh;
    pthread_spin_unlock(&s->lock);
    release(old);
}

static uint64_t consistent(const struct document *d) {
    uint64_t different = 0;
    for (int w = 1; w < WORDS; w++) different |= d->words[w] ^ d->words[0];
    return different == 0;
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    uint64_t good = 0;
    for (long i = part_begin(n, id, threads); i < part_end(n, id, threads); i++) {
        uint64_t r = mix64((uint64_t)i);
        struct slot *s = &slots[r % SLOTS];
        if (i % 64 == 0) {
            replace(s, make_document(r));
            continue;
        }
        struct document *d = get(s);
        struct document *copy = retain(d);
        good += consistent(d);
        release(copy);
        release(d);
    }
    sums[id][0] = good;
    return NULL;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 1500000);
    n = args.size;
    threads = args.threads;
    for (int i = 0; i < SLOTS; i++) {
        pthread_spin_init(&slots[i].lock, PTHREAD_PROCESS_PRIVATE);
        slots[i].document = make_document((uint64_t)i);
    }
    run_threads(threads, work);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++) sum += sums[i][0];
    for (int i = 0; i < SLOTS; i++) {
        release(slots[i].document);
        pthread_spin_destroy(&slots[i].lock);
    }
    return kernel_done(sum * 1000 + (uint64_t)atomic_load(&alive));
}
