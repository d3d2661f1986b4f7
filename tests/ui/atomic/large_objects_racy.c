// Atomic objects that the compilers leave to libatomic (3, 16 and 24 bytes, long double) publish nothing by a relaxed store.
// expect: data-race global=by_store lines=A,B
// expect: data-race global=by_exchange lines=C,D
// expect: data-race global=by_compare lines=E,F
// expect: data-race global=by_real lines=G,H
// flags: -Wno-atomic-alignment
// libs: -latomic
#include <stdatomic.h>
#include "start.h"

struct three { char part[3]; };
struct two { long a, b; };
struct large { long a, b, c; };

_Atomic struct three letter;
_Atomic struct two pair;
_Atomic struct large triple;
_Atomic long double real;
int by_store, by_exchange, by_compare, by_real;

void *writer(void *arg)
{
    (void)arg;
    by_store = 1; // A
    atomic_store_explicit(&letter, ((struct three){{1, 2, 3}}), memory_order_relaxed);
    hidden_pass();
    hidden_reach(2);
    by_exchange = 1; // C
    atomic_exchange_explicit(&pair, ((struct two){1, 2}), memory_order_relaxed);
    hidden_pass();
    hidden_reach(4);
    by_compare = 1; // E
    struct large none = {0, 0, 0};
    must(atomic_compare_exchange_strong_explicit(&triple, &none, ((struct large){1, 2, 3}), memory_order_relaxed, memory_order_relaxed));
    hidden_pass();
    hidden_reach(6);
    by_real = 1; // G
    atomic_store_explicit(&real, 1.5L, memory_order_relaxed);
    hidden_pass();
    return 0;
}

void *reader(void *arg)
{
    (void)arg;
    hidden_reach(1);
    struct three seen = atomic_load_explicit(&letter, memory_order_acquire);
    must(seen.part[2] == 3);
    by_store++; // B
    hidden_pass();
    hidden_reach(3);
    struct two both = atomic_load_explicit(&pair, memory_order_acquire);
    must(both.b == 2);
    by_exchange++; // D
    hidden_pass();
    hidden_reach(5);
    struct large other = {5, 5, 5};
    must(!atomic_compare_exchange_strong_explicit(&triple, &other, other, memory_order_acq_rel, memory_order_acquire));
    must(other.c == 3);
    by_compare++; // F
    hidden_pass();
    hidden_reach(7);
    must(atomic_load_explicit(&real, memory_order_acquire) == 1.5L);
    by_real++; // H
    return 0;
}

int main(void)
{
    both(writer, reader);
    return 0;
}
