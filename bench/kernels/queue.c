// A bounded queue with one mutex and two condition variables; half of the threads produce messages on the heap, the other
// half take, check and free them.
#include "kernel.h"

#define CAPACITY 256
#define WORDS 24

struct message {
    uint64_t number;
    uint64_t words[WORDS];
};

static long n;
static int producers, consumers;
static struct message *ring[CAPACITY];
static long head, tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static uint64_t sums[MAX_THREADS][8];

static void put(struct message *m) {
    pthread_mutex_lock(&lock);
    while (tail - head == CAPACITY) pthread_cond_wait(&not_full, &lock);
    ring[tail++ % CAPACITY] = m;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

static struct message *take(void) {
    pthread_mutex_lock(&lock);
    while (tail == head) pthread_cond_wait(&not_empty, &lock);
    struct message *m = ring[head++ % CAPACITY];
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
    return m;
}

static void produce(int id) {
    for (long i = part_begin(n, id, producers); i < part_end(n, id, producers); i++) {
        struct message *m = must_alloc(sizeof *m);
        m->number = (uint64_t)i;
        uint64_t seed = (uint64_t)i << 8;
        for (int w = 0; w < WORDS; w++) m->words[w] = next_random(&seed);
        put(m);
    }
}

static void consume(int id) {
    uint64_t sum = 0;
    for (long i = part_begin(n, id, consumers); i < part_end(n, id, consumers); i++) {
        struct message *m = take();
        uint64_t h = m->number;
        for (int w = 0; w < WORDS; w++) h = (h ^ m->words[w]) * 0x100000001b3u;
        sum += h;
        free(m);
    }
    sums[id][0] = sum;
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    if (id < producers)
        produce(id);
    else
        consume(id - producers);
    return NULL;
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 300000);
    n = args.size;
    producers = args.threads < 2 ? 1 : args.threads / 2;
    consumers = args.threads < 2 ? 1 : args.threads - producers;
    run_threads(producers + consumers, work);
    uint64_t sum = 0;
    for (int i = 0; i < consumers; i++) sum += sums[i][0];
    return kernel_done(sum);
}
