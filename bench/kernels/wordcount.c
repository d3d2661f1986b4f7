// Counts words of a generated text: bytes, strings, small functions, memcpy and malloc; each thread fills its own table,
// the tables are merged under one lock.
#include "kernel.h"

#define TABLE 8192
#define LONGEST 32

struct entry {
    char *word;
    uint64_t hash;
    long count;
};

static char *text;
static long n;
static int threads;
static struct entry total[TABLE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_letter(int c) { return c >= 'a' && c <= 'z'; }

static __attribute__((noinline)) struct entry *slot_for(struct entry *table, const char *word, uint64_t hash) {
    size_t i = hash % TABLE;
    while (table[i].word && (table[i].hash != hash || strcmp(table[i].word, word) != 0)) i = (i + 1) % TABLE;
    return &table[i];
}

static __attribute__((noinline)) void count_word(struct entry *table, const char *word, long times) {
    uint64_t hash = hash_bytes(word, strlen(word), 14695981039346656037u);
    struct entry *e = slot_for(table, word, hash);
    if (!e->word) {
        size_t bytes = strlen(word) + 1;
        e->word = must_alloc(bytes);
        memcpy(e->word, word, bytes);
        e->hash = hash;
        e->count = 0;
    }
    e->count += times;
}

// A word belongs to the thread in whose part it starts.
static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    struct entry *mine = calloc(TABLE, sizeof *mine);
    if (!mine) exit(2);
    long end = part_end(n, id, threads);
    long i = part_begin(n, id, threads);
    while (i > 0 && i < n && is_letter(text[i - 1]) && is_letter(text[i])) i++;
    while (i < end) {
        if (!is_letter(text[i])) {
            i++;
            continue;
        }
        char word[LONGEST];
        int length = 0;
        while (i < n && is_letter(text[i])) {
            if (length < LONGEST - 1) word[length++] = text[i];
            i++;
        }
        word[length] = 0;
        count_word(mine, word, 1);
    }
    pthread_mutex_lock(&lock);
    for (int t = 0; t < TABLE; t++)
        if (mine[t].word) {
            count_word(total, mine[t].word, mine[t].count);
            free(mine[t].word);
        }
    pthread_mutex_unlock(&lock);
    free(mine);
    return NULL;
}

static void write_text(void) {
    uint64_t seed = 17;
    long i = 0;
    while (i < n) {
        uint64_t word = next_random(&seed) % 3000;
        uint64_t letters = mix64(word);
        long length = 2 + (long)(letters % 9);
        for (long k = 0; k < length && i < n; k++) {
            text[i++] = (char)('a' + letters % 26);
            letters /= 26;
        }
        if (i < n) text[i++] = ' ';
    }
}

int main(int argc, char **argv) {
    struct kernel_args args = kernel_args(argc, argv, 16000000);
    n = args.size;
    threads = args.threads;
    text = must_alloc((size_t)n);
    write_text();
    run_threads(threads, work);
    uint64_t sum = 0;
    for (int t = 0; t < TABLE; t++)
        if (total[t].word) {
            sum += mix64(total[t].hash ^ (uint64_t)total[t].count);
            free(total[t].word);
        }
    free(text);
    return kernel_done(sum);
}
