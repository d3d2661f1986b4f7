/* deadheat.h - a program is told of the bugs that Deadheat finds in it while it runs.
 *
 *     static void told(const struct deadheat_finding *finding, void *data) {
 *         fprintf(stderr, "bug: %s\n", finding->headline);
 *         ...                      // save the work, ask the main loop to go back to a checkpoint, or exit
 *     }
 *     deadheat_on_finding(told, NULL);
 *
 * `deadheat cc` finds this header by itself. It costs nothing without Deadheat: the same source builds with any compiler,
 * and deadheat_on_finding returns 0 then.
 *
 * A program that checks itself calls its handler in the thread that found the bug, just after the access. Under
 * `deadheat run --split` a thread of Deadheat's own calls it, milliseconds later. Findings that a suppression names are not
 * told, and none is told twice. The handler may do what a handler of a bug may: set a flag (an atomic one: it runs beside
 * the other threads), write, save, exit. While it runs nothing that it does is checked if the program checks itself. It
 * must not leave by longjmp or an exception. The child of a fork has no handler until it registers one.
 */
#ifndef DEADHEAT_H
#define DEADHEAT_H

#ifdef __cplusplus
extern "C" {
#endif

struct deadheat_finding {
    unsigned size;        /* of this struct; later versions may have more behind */
    unsigned id;          /* its number in the report */
    const char *kind;     /* "data-race", "use-after-free", "lock-order-inversion", ... */
    const char *headline; /* one line, as in the report */
};

typedef void (*deadheat_handler)(const struct deadheat_finding *finding, void *data);

/* In the program if it was built with Deadheat. */
extern int __deadheat_on_finding(deadheat_handler handler, void *data) __attribute__((weak));

/* Registers the handler, instead of an earlier one; NULL for none. 1 if it will be told, 0 if there is no Deadheat here, or
 * one that only records (`deadheat record`). */
static inline int deadheat_on_finding(deadheat_handler handler, void *data) {
    return __deadheat_on_finding ? __deadheat_on_finding(handler, data) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
