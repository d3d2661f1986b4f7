// An empty runtime: every hook of the ThreadSanitizer ABI that clang emits, doing nothing, and the atomics, which the
// compiler leaves to the runtime. It shows what the calls alone cost. Compiled without -fsanitize=thread.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void __tsan_init(void) {}
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void) {}
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void) {}
void __tsan_vptr_update(void **slot, void *value) { (void)slot, (void)value; }
void __tsan_vptr_read(void **slot) { (void)slot; }
void __tsan_read_range(void *p, size_t n) { (void)p, (void)n; }
void __tsan_write_range(void *p, size_t n) { (void)p, (void)n; }
void __deadheat_touch_range(void *p, size_t n, size_t how) { (void)p, (void)n, (void)how; }
void __deadheat_touch_strided(void *p, size_t n, ptrdiff_t stride, size_t how) { (void)p, (void)n, (void)stride, (void)how; }

#define HOOK(name) \
    void __tsan_##name(void *p) { (void)p; }
HOOK(read1) HOOK(read2) HOOK(read4) HOOK(read8) HOOK(read16)
HOOK(write1) HOOK(write2) HOOK(write4) HOOK(write8) HOOK(write16)
HOOK(unaligned_read2) HOOK(unaligned_read4) HOOK(unaligned_read8) HOOK(unaligned_read16)
HOOK(unaligned_write2) HOOK(unaligned_write4) HOOK(unaligned_write8) HOOK(unaligned_write16)

void *__tsan_memcpy(void *to, const void *from, size_t n) { return memcpy(to, from, n); }
void *__tsan_memmove(void *to, const void *from, size_t n) { return memmove(to, from, n); }
void *__tsan_memset(void *to, int c, size_t n) { return memset(to, c, n); }

// The order is given as a number at run time; on x86 all but a seq_cst store are the same instruction.
#define ATOMICS(bits, type)                                                                                          \
    type __tsan_atomic##bits##_load(const volatile type *p, int order) {                                            \
        (void)order;                                                                                                 \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                 \
    }                                                                                                                \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int order) {                                         \
        if (order == __ATOMIC_SEQ_CST)                                                                               \
            __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                                \
        else                                                                                                         \
            __atomic_store_n(p, v, __ATOMIC_RELEASE);                                                                \
    }                                                                                                                \
    type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order) {                                      \
        (void)order;                                                                                                 \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                          \
    }                                                                                                                \
    RMW(bits, type, add) RMW(bits, type, sub) RMW(bits, type, and) RMW(bits, type, or)                              \
    RMW(bits, type, xor) RMW(bits, type, nand)                                                                      \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type v, int order, int fail) { \
        (void)order, (void)fail;                                                                                     \
        __atomic_compare_exchange_n(p, &expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                         \
        return expected;                                                                                             \
    }                                                                                                                \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *expected, type v, int o, int fail) {  \
        (void)o, (void)fail;                                                                                         \
        return __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
    }                                                                                                                \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *expected, type v, int o, int fail) {    \
        (void)o, (void)fail;                                                                                         \
        return __atomic_compare_exchange_n(p, expected, v, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
    }
#define RMW(bits, type, op)                                                               \
    type __tsan_atomic##bits##_fetch_##op(volatile type *p, type v, int order) {          \
        (void)order;                                                                      \
        return __atomic_fetch_##op(p, v, __ATOMIC_SEQ_CST);                               \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
    if (order == __ATOMIC_SEQ_CST) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order) { (void)order; }
