// A workload for SQLite: THREADS connections to one database file in WAL mode that write in transactions and read through
// an index, then one connection in serialized mode that all threads share.
//
// usage: sqlite SIZE THREADS FILE   (FILE must not exist; it and its -wal and -shm are removed at the end)
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sqlite3.h"

#define MAX_THREADS 64
#define BATCH 50

static const char *file;
static long rows;
static int threads;
static sqlite3 *shared;
static uint64_t sums[MAX_THREADS][8];

static void fail(const char *what, sqlite3 *db) {
    fprintf(stderr, "sqlite: %s: %s\n", what, db ? sqlite3_errmsg(db) : "no database");
    exit(2);
}

static void run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql, db);
}

static sqlite3 *open_database(void) {
    sqlite3 *db = NULL;
    if (sqlite3_open(file, &db) != SQLITE_OK) fail("open", db);
    sqlite3_busy_timeout(db, 600000);
    run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-512;");
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) fail(sql, db);
    return s;
}

static uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static long part(int id) { return rows * id / threads; }

static void insert_rows(sqlite3 *db, long from, long to) {
    sqlite3_stmt *insert = prepare(db, "INSERT INTO item(id, owner, name, amount) VALUES(?1, ?2, ?3, ?4)");
    for (long i = from; i < to; i += BATCH) {
        run(db, "BEGIN IMMEDIATE");
        for (long k = i; k < i + BATCH && k < to; k++) {
            char name[32];
            uint64_t r = mix64((uint64_t)k);
            int length = snprintf(name, sizeof name, "item-%llx", (unsigned long long)r);
            sqlite3_bind_int64(insert, 1, k);
            sqlite3_bind_int64(insert, 2, (sqlite3_int64)(r % 97));
            sqlite3_bind_text(insert, 3, name, length, SQLITE_TRANSIENT);
            sqlite3_bind_int64(insert, 4, (sqlite3_int64)(r >> 48));
            if (sqlite3_step(insert) != SQLITE_DONE) fail("insert", db);
            sqlite3_reset(insert);
        }
        run(db, "COMMIT");
    }
    sqlite3_finalize(insert);
}

// Reads only rows that this thread wrote, so the sum does not depend on the schedule.
static uint64_t read_rows(sqlite3 *db, long from, long to) {
    sqlite3_stmt *query = prepare(db, "SELECT amount, length(name) FROM item WHERE owner=?1 AND id BETWEEN ?2 AND ?3");
    uint64_t sum = 0;
    for (int owner = 0; owner < 97; owner++) {
        sqlite3_bind_int64(query, 1, owner);
        sqlite3_bind_int64(query, 2, from);
        sqlite3_bind_int64(query, 3, to - 1);
        int rc;
        while ((rc = sqlite3_step(query)) == SQLITE_ROW)
            sum += (uint64_t)sqlite3_column_int64(query, 0) * 7 + (uint64_t)sqlite3_column_int64(query, 1);
        if (rc != SQLITE_DONE) fail("select", db);
        sqlite3_reset(query);
    }
    sqlite3_finalize(query);
    return sum;
}

static void *own_connection(void *arg) {
    int id = (int)(intptr_t)arg;
    sqlite3 *db = open_database();
    insert_rows(db, part(id), part(id + 1));
    sums[id][0] = read_rows(db, part(id), part(id + 1));
    sqlite3_close(db);
    return NULL;
}

static void *shared_connection(void *arg) {
    int id = (int)(intptr_t)arg;
    sqlite3_stmt *query = prepare(shared, "SELECT owner + amount FROM item WHERE id=?1");
    uint64_t sum = 0;
    for (long i = part(id); i < part(id + 1); i += 2) {
        sqlite3_bind_int64(query, 1, i);
        if (sqlite3_step(query) != SQLITE_ROW) fail("shared select", shared);
        sum += (uint64_t)sqlite3_column_int64(query, 0);
        sqlite3_reset(query);
    }
    sqlite3_finalize(query);
    sums[id][1] = sum;
    return NULL;
}

static void in_threads(void *(*body)(void *)) {
    pthread_t t[MAX_THREADS];
    for (intptr_t i = 0; i < threads; i++)
        if (pthread_create(&t[i], NULL, body, (void *)i) != 0) exit(2);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s SIZE THREADS FILE\n", argv[0]);
        return 2;
    }
    rows = strtol(argv[1], NULL, 10);
    threads = (int)strtol(argv[2], NULL, 10);
    file = argv[3];
    if (rows < 1 || threads < 1 || threads > MAX_THREADS || access(file, F_OK) == 0) return 2;
    shared = open_database();
    run(shared, "CREATE TABLE item(id INTEGER PRIMARY KEY, owner INTEGER, name TEXT, amount INTEGER);"
                "CREATE INDEX item_owner ON item(owner, id);");
    in_threads(own_connection);
    in_threads(shared_connection);
    sqlite3_stmt *count = prepare(shared, "SELECT count(*), sum(amount), max(name) FROM item");
    if (sqlite3_step(count) != SQLITE_ROW) fail("count", shared);
    uint64_t h = (uint64_t)sqlite3_column_int64(count, 0) * 1000003 + (uint64_t)sqlite3_column_int64(count, 1);
    for (const unsigned char *p = sqlite3_column_text(count, 2); *p; p++) h = (h ^ *p) * 0x100000001b3u;
    sqlite3_finalize(count);
    sqlite3_close(shared);
    for (int i = 0; i < threads; i++) h += sums[i][0] * 31 + sums[i][1];
    unlink(file);
    printf("checksum %016llx\n", (unsigned long long)h);
    return 0;
}
