// A turn counter that no race detector can see.
//
// Test programs force one schedule with it, so that a race is there in every run. Everything is done by inline assembly
// inside functions that are not instrumented: a compiler that instruments for races finds no load, no store, no atomic
// and no libc call here, so the order that it forces is not an order in the sense of the language.
//
//     first thread              second thread
//     x = 1;                    hidden_reach(1);
//     hidden_pass();            x = 2;
#ifndef HIDDEN_BARRIER_H
#define HIDDEN_BARRIER_H

#define HIDDEN __attribute__((no_sanitize("thread"), noinline, unused)) static

static int hidden_turn;

HIDDEN long hidden_syscall(long number, long a, long b, long c, long d)
{
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

HIDDEN int hidden_load(int *word)
{
    int value;
    __asm__ volatile("movl (%1), %0" : "=r"(value) : "r"(word) : "memory");
    return value;
}

// Wait until the counter at `word` is at least `turn`.
HIDDEN void hidden_reach_at(int *word, int turn)
{
    for (;;) {
        int now = hidden_load(word);
        if (now >= turn)
            return;
        hidden_syscall(202 /* futex */, (long)word, 0 /* FUTEX_WAIT */, now, 0);
    }
}

// Add one to the counter at `word` and wake whoever waits for it.
HIDDEN void hidden_pass_at(int *word)
{
    __asm__ volatile("lock incl (%0)" : : "r"(word) : "memory", "cc");
    hidden_syscall(202 /* futex */, (long)word, 1 /* FUTEX_WAKE */, 0x7fffffff, 0);
}

// Wait until `turn` calls of hidden_pass have been made.
HIDDEN void hidden_reach(int turn)
{
    hidden_reach_at(&hidden_turn, turn);
}

// Let the threads go on that wait for this turn.
HIDDEN void hidden_pass(void)
{
    hidden_pass_at(&hidden_turn);
}

// A barrier: pass, and wait until `turn` passes have been made in all.
HIDDEN void hidden_meet(int turn)
{
    hidden_pass();
    hidden_reach(turn);
}

// A plain load and store that are not instrumented.
HIDDEN long hidden_peek(void *place)
{
    long value;
    __asm__ volatile("movq (%1), %0" : "=r"(value) : "r"(place) : "memory");
    return value;
}

HIDDEN void hidden_poke(void *place, long value)
{
    __asm__ volatile("movq %1, (%0)" : : "r"(place), "r"(value) : "memory");
}

#endif
