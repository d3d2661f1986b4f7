// Runs for SECONDS and uses everything again and again: threads made and joined or detached, mutexes, rwlocks, condition
// variables, semaphores, atomics with fences, malloc and realloc, thread-local keys. Correct, so a report is an error.
// Prints the resident memory now and then; the runner checks that it stays flat.
//
// usage: soak SECONDS [THREADS]
#include "kernel.h"

#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#define OBJECTS 64

struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long value;
    pthread_rwlock_t rwlock;
    long table[32];
    _Atomic long counter;
    long message;
    _Atomic int ready;
};

static struct shared *objects[OBJECTS];
static pthread_rwlock_t registry = PTHREAD_RWLOCK_INITIALIZER;
static sem_t tokens;
static sem_t detached_done;
static pthread_key_t key;
static _Atomic long destroyed;
static int threads;
static _Atomic long round_number;

static void forget(void *p) {
    free(p);
    atomic_fetch_add_explicit(&destroyed, 1, memory_order_relaxed);
}

static struct shared *make_shared(void) {
    struct shared *s = must_alloc(sizeof *s);
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    pthread_rwlock_init(&s->rwlock, NULL);
    return s;
}

static void drop_shared(struct shared *s) {
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    pthread_rwlock_destroy(&s->rwlock);
    free(s);
}

static void use(struct shared *s, uint64_t r) {
    switch (r % 6) {
    case 0:
        pthread_mutex_lock(&s->lock);
        s->value++;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        break;
    case 1:
        pthread_rwlock_rdlock(&s->rwlock);
        (void)*(volatile long *)&s->table[r / 8 % 32];
        pthread_rwlock_unlock(&s->rwlock);
        break;
    case 2:
        pthread_rwlock_wrlock(&s->rwlock);
        s->table[r / 8 % 32]++;
        pthread_rwlock_unlock(&s->rwlock);
        break;
    case 3: atomic_fetch_add_explicit(&s->counter, 1, memory_order_acq_rel); break;
    case 4: {
        // Publication by fences: 0 -> 1 claims, 2 publishes, 3 is being read.
        int expected = 0;
        if (atomic_compare_exchange_strong_explicit(&s->ready, &expected, 1, memory_order_acquire, memory_order_relaxed)) {
            s->message = (long)r | 1;
            atomic_thread_fence(memory_order_release);
            atomic_store_explicit(&s->ready, 2, memory_order_relaxed);
        } else if (expected == 2 &&
                   atomic_compare_exchange_strong_explicit(&s->ready, &expected, 3, memory_order_relaxed, memory_order_relaxed)) {
            atomic_thread_fence(memory_order_acquire);
            if (s->message == 0) abort();
            s->message = 0;
            atomic_store_explicit(&s->ready, 0, memory_order_release);
        }
        break;
    }
    default: {
        size_t n = 16 + r % 2000;
        char *p = must_alloc(n);
        memset(p, 1, n);
        p = realloc(p, n * 2);
        if (!p) abort();
        p[n * 2 - 1] = 2;
        free(p);
    }
    }
}

static void *work(void *arg) {
    uint64_t seed = (uint64_t)(uintptr_t)arg * 1000003u + (uint64_t)atomic_load_explicit(&round_number, memory_order_relaxed) * 97u;
    pthread_setspecific(key, must_alloc(24));
    sem_wait(&tokens);
    for (int i = 0; i < 2000; i++) {
        uint64_t r = next_random(&seed);
        pthread_rwlock_rdlock(&registry);
        use(objects[(r >> 32) % OBJECTS], r >> 8);
        pthread_rwlock_unlock(&registry);
        if (i % 500 == 0) {
            // Replaces one object: its memory comes back as something else.
            pthread_rwlock_wrlock(&registry);
            struct shared **slot = &objects[(r >> 40) % OBJECTS];
            drop_shared(*slot);
            *slot = make_shared();
            pthread_rwlock_unlock(&registry);
        }
    }
    sem_post(&tokens);
    return NULL;
}

static void *detached(void *arg) {
    work(arg);
    sem_post(&detached_done);
    return NULL;
}

static long resident_kib(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long total = 0, resident = 0;
    if (!f || fscanf(f, "%ld %ld", &total, &resident) != 2) exit(2);
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 10);
    threads = args.threads;
    sem_init(&tokens, 0, (unsigned)threads);
    sem_init(&detached_done, 0, 0);
    pthread_key_create(&key, forget);
    for (int i = 0; i < OBJECTS; i++) objects[i] = make_shared();
    time_t start = time(NULL), last = start - 1;
    long rounds = 0, made = 0;
    for (time_t t = start; t - start < args.size; t = time(NULL)) {
        atomic_store_explicit(&round_number, rounds, memory_order_relaxed);
        pthread_t loose;
        if (pthread_create(&loose, NULL, detached, (void *)99) != 0) return 2;
        pthread_detach(loose);
        run_threads(threads, work);
        sem_wait(&detached_done);
        made += threads + 1;
        rounds++;
        if (t != last) {
            printf("rss %ld %ld %ld\n", (long)(t - start), resident_kib(), rounds);
            fflush(stdout);
            last = t;
        }
    }
    for (int i = 0; i < OBJECTS; i++) drop_shared(objects[i]);
    printf("rounds %ld threads %ld\n", rounds, made);
    return 0;
}
