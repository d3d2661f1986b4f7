// A load client for memcached over loopback: THREADS connections, SIZE operations in all (set, get, multi-get, delete,
// incr), every answer checked. It is never instrumented; only the server is measured.
//
// usage: memcached-client PORT SIZE THREADS
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_THREADS 64
#define MOST_KEYS 5000

static int port, threads;
static long operations, keys_used;
static uint64_t sums[MAX_THREADS][8];

static uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct connection {
    int fd;
    size_t begin, end;
    char buffer[65536];
};

static void fail(const char *what) {
    fprintf(stderr, "memcached-client: %s\n", what);
    exit(2);
}

static void send_all(struct connection *c, const char *data, size_t n) {
    while (n > 0) {
        ssize_t k = write(c->fd, data, n);
        if (k <= 0) fail("write failed");
        data += k;
        n -= (size_t)k;
    }
}

// One line without its end, in the connection's buffer until the next call.
static char *line(struct connection *c) {
    for (;;) {
        char *start = c->buffer + c->begin;
        char *end = memchr(start, '\n', c->end - c->begin);
        if (end) {
            c->begin = (size_t)(end + 1 - c->buffer);
            *end = 0;
            if (end > start && end[-1] == '\r') end[-1] = 0;
            return start;
        }
        if (c->begin > 0) {
            memmove(c->buffer, start, c->end - c->begin);
            c->end -= c->begin;
            c->begin = 0;
        }
        if (c->end == sizeof c->buffer) fail("line too long");
        ssize_t k = read(c->fd, c->buffer + c->end, sizeof c->buffer - c->end);
        if (k <= 0) fail("read failed");
        c->end += (size_t)k;
    }
}

static void expect(struct connection *c, const char *text) {
    char *got = line(c);
    if (strcmp(got, text) != 0) {
        fprintf(stderr, "memcached-client: got '%.60s' instead of '%s'\n", got, text);
        exit(2);
    }
}

// The value of a key never changes, so every thread may set it and every get can be checked.
static int value_of(long key, char *out) {
    uint64_t r = mix64((uint64_t)key);
    int n = (int)(20 + r % 180);
    for (int i = 0; i < n; i++) out[i] = (char)('a' + (r >> (i % 48)) % 26);
    out[n] = 0;
    return n;
}

static void set(struct connection *c, long key) {
    char value[256], text[512];
    int n = value_of(key, value);
    int length = snprintf(text, sizeof text, "set key:%ld 0 0 %d\r\n%s\r\n", key, n, value);
    send_all(c, text, (size_t)length);
    expect(c, "STORED");
}

static uint64_t get_many(struct connection *c, const long *keys, int count) {
    char text[512];
    int length = snprintf(text, sizeof text, "get");
    for (int i = 0; i < count; i++) length += snprintf(text + length, sizeof text - (size_t)length, " key:%ld", keys[i]);
    length += snprintf(text + length, sizeof text - (size_t)length, "\r\n");
    send_all(c, text, (size_t)length);
    for (int i = 0; i < count; i++) {
        char value[256], head[64];
        int n = value_of(keys[i], value);
        snprintf(head, sizeof head, "VALUE key:%ld 0 %d", keys[i], n);
        expect(c, head);
        expect(c, value);
    }
    expect(c, "END");
    return (uint64_t)count;
}

static struct connection *connect_to_server(void) {
    struct connection *c = calloc(1, sizeof *c);
    if (!c) fail("out of memory");
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0) fail("cannot connect");
    return c;
}

static void *work(void *arg) {
    int id = (int)(intptr_t)arg;
    struct connection *c = connect_to_server();
    char text[128];
    int length = snprintf(text, sizeof text, "set counter:%d 0 0 1\r\n0\r\n", id);
    send_all(c, text, (size_t)length);
    expect(c, "STORED");
    uint64_t good = 0, counted = 0;
    long from = operations * id / threads, to = operations * (id + 1) / threads;
    for (long i = from; i < to; i++) {
        uint64_t r = mix64((uint64_t)i);
        long keys[8];
        for (int k = 0; k < 8; k++) keys[k] = (long)(mix64(r + (uint64_t)k) % (uint64_t)keys_used);
        switch (r % 10) {
        case 0:
        case 1: set(c, keys[0]); break;
        case 2:
            length = snprintf(text, sizeof text, "incr counter:%d 3\r\n", id);
            send_all(c, text, (size_t)length);
            counted += 3;
            snprintf(text, sizeof text, "%llu", (unsigned long long)counted);
            expect(c, text);
            break;
        case 3:
            length = snprintf(text, sizeof text, "set mine:%d 0 0 2\r\nok\r\n", id);
            send_all(c, text, (size_t)length);
            expect(c, "STORED");
            length = snprintf(text, sizeof text, "delete mine:%d\r\n", id);
            send_all(c, text, (size_t)length);
            expect(c, "DELETED");
            break;
        default: good += get_many(c, keys, 8); break;
        }
    }
    sums[id][0] = good + counted;
    close(c->fd);
    free(c);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s PORT SIZE THREADS\n", argv[0]);
        return 2;
    }
    port = (int)strtol(argv[1], NULL, 10);
    operations = strtol(argv[2], NULL, 10);
    threads = (int)strtol(argv[3], NULL, 10);
    if (threads < 1 || threads > MAX_THREADS) return 2;
    keys_used = operations / 8 < 16 ? 16 : operations / 8 > MOST_KEYS ? MOST_KEYS : operations / 8;
    struct connection *c = connect_to_server();
    for (long k = 0; k < keys_used; k++) set(c, k);
    pthread_t t[MAX_THREADS];
    for (intptr_t i = 0; i < threads; i++)
        if (pthread_create(&t[i], NULL, work, (void *)i) != 0) return 2;
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
        sum += sums[i][0];
    }
    send_all(c, "stats\r\n", 7);
    while (strcmp(line(c), "END") != 0) {
    }
    close(c->fd);
    free(c);
    printf("checksum %016llx\n", (unsigned long long)sum);
    return 0;
}
