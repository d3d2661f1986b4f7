// What a report consists of can be asked while __tsan_on_report runs.
// expect: data-race heap=8 op=write,write lines=B,A locks=0,1
// stdout: data-race 2 1 1 2
// stdout: write 4 by T2, write 4 by T1
// stdout: heap 8
// stdout: asked
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "start.h"

int __tsan_get_report_data(void *report, const char **description, int *count, int *stacks, int *accesses, int *places,
                           int *locks, int *threads, int *unique, void **sleep, unsigned long room);
int __tsan_get_report_mop(void *report, unsigned long at, int *thread, void **addr, int *size, int *write, int *atomic,
                          void **trace, unsigned long room);
int __tsan_get_report_loc(void *report, unsigned long at, const char **type, void **addr, uintptr_t *start, uintptr_t *size,
                          int *thread, int *fd, int *suppressable, void **trace, unsigned long room);
int __tsan_get_report_mutex(void *report, unsigned long at, uintptr_t *id, void **addr, int *destroyed, void **trace,
                            unsigned long room);
int __tsan_get_report_thread(void *report, unsigned long at, int *thread, uint64_t *tid, int *running, const char **name,
                             int *parent, void **trace, unsigned long room);
int __tsan_get_report_unique_tid(void *report, unsigned long at, int *thread);
void *__tsan_get_current_report(void);

int *block;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
char said[4][80];

void __tsan_on_report(void *report)
{
    const char *kind, *type, *name;
    int count, stacks, accesses, places, locks, threads, unique;
    void *trace[16], *addr[2], *lock_addr;
    must(__tsan_get_current_report() == report);
    must(__tsan_get_report_data(report, &kind, &count, &stacks, &accesses, &places, &locks, &threads, &unique, trace, 1));
    must(count == 1 && stacks == 0 && unique == threads && !trace[0]);
    snprintf(said[0], sizeof said[0], "%s %d %d %d %d", kind, accesses, places, locks, threads);
    int thread[2], size[2], write[2], atomic[2];
    for (int i = 0; i < 2; i++) {
        must(__tsan_get_report_mop(report, i, &thread[i], &addr[i], &size[i], &write[i], &atomic[i], trace, 16));
        must(addr[i] == block && !atomic[i] && trace[0] && trace[1]);
    }
    must(!__tsan_get_report_mop(report, 2, thread, addr, size, write, atomic, trace, 16));
    snprintf(said[1], sizeof said[1], "%s %d by T%d, %s %d by T%d", write[0] ? "write" : "read", size[0], thread[0],
             write[1] ? "write" : "read", size[1], thread[1]);
    uintptr_t start, bytes, id;
    int owner, fd, may, destroyed, running, parent;
    must(__tsan_get_report_loc(report, 0, &type, &addr[0], &start, &bytes, &owner, &fd, &may, trace, 16));
    must(start == (uintptr_t)block && owner == 0 && trace[0]);
    snprintf(said[2], sizeof said[2], "%s %lu", type, (unsigned long)bytes);
    must(__tsan_get_report_mutex(report, 0, &id, &lock_addr, &destroyed, trace, 16));
    must(lock_addr == &lock && !destroyed && !__tsan_get_report_mutex(report, 1, &id, &lock_addr, &destroyed, trace, 16));
    uint64_t tid;
    for (int i = 0; i < 2; i++) {
        must(__tsan_get_report_thread(report, i, &thread[0], &tid, &running, &name, &parent, trace, 16));
        must(tid != 0 && name && parent == 0 && trace[0]);
        must(__tsan_get_report_unique_tid(report, i, &thread[1]) && thread[0] == thread[1]);
    }
    strcpy(said[3], "asked");
}

void *first(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    *block = 1; // A
    pthread_mutex_unlock(&lock);
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    *block = 2; // B
    return 0;
}

int main(void)
{
    block = malloc(8);
    both(first, second);
    free(block);
    for (int i = 0; i < 4; i++)
        puts(said[i]);
    return 0;
}
