// A workload for zstd: compresses SIZE bytes of generated text with THREADS worker threads, decompresses, compares.
//
// usage: zstd SIZE THREADS
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#include "zstd.h"

static uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void write_text(char *text, size_t n) {
    uint64_t seed = 1;
    size_t i = 0;
    while (i < n) {
        uint64_t letters = mix64(mix64(seed++) % 5000);
        size_t length = 3 + letters % 8;
        for (size_t k = 0; k < length && i < n; k++) {
            text[i++] = (char)('a' + letters % 26);
            letters /= 26;
        }
        if (i < n) text[i++] = ' ';
    }
}

static void check(size_t code, const char *what) {
    if (ZSTD_isError(code)) {
        fprintf(stderr, "zstd: %s: %s\n", what, ZSTD_getErrorName(code));
        exit(2);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s SIZE THREADS\n", argv[0]);
        return 2;
    }
    size_t n = (size_t)strtol(argv[1], NULL, 10);
    int threads = (int)strtol(argv[2], NULL, 10);
    char *text = malloc(n), *back = malloc(n);
    size_t bound = ZSTD_compressBound(n) + (1 << 20);
    char *packed = malloc(bound);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (!text || !back || !packed || !context) return 2;
    write_text(text, n);

    check(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 5), "level");
    check(ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, threads), "nbWorkers");
    check(ZSTD_CCtx_setParameter(context, ZSTD_c_jobSize, 1 << 20), "jobSize");
    check(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1), "checksumFlag");
    ZSTD_inBuffer in = {text, n, 0};
    ZSTD_outBuffer out = {packed, bound, 0};
    size_t left;
    do {
        left = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
        check(left, "compress");
    } while (left != 0);
    ZSTD_freeCCtx(context);

    size_t got = ZSTD_decompress(back, n, packed, out.pos);
    check(got, "decompress");
    if (got != n || memcmp(text, back, n) != 0) {
        fprintf(stderr, "zstd: the text came back changed\n");
        return 2;
    }
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < out.pos; i++) h = (h ^ (unsigned char)packed[i]) * 0x100000001b3u;
    printf("checksum %016llx\n", (unsigned long long)h);
    free(text);
    free(back);
    free(packed);
    return 0;
}
