// A small bank with two bugs that tests seldom catch.
//
//   deadheat run examples/bank.c -- 100
//
// Tellers move money between accounts, each account under its own lock, in an order that cannot deadlock. An auditor
// adds up all balances meanwhile. What goes wrong:
//   1. tellers count their transfers in `transfers` without any lock: counts get lost;
//   2. the auditor reads balances without the accounts' locks: money in flight is counted twice or not at all.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 8, TELLERS = 3 };

struct account {
    pthread_mutex_t lock;
    long cents;
};

static struct account *bank;
static long transfers;

static void move_money(struct account *from, struct account *to, long cents) {
    struct account *first = from < to ? from : to;
    struct account *second = from < to ? to : from;
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    from->cents -= cents;
    to->cents += cents;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
    transfers++;
}

struct work {
    unsigned number;
    long rounds;
};

static void *teller(void *arg) {
    struct work *work = arg;
    unsigned dice = work->number;
    for (long i = 0; i < work->rounds; i++) {
        dice = dice * 1103515245u + 12345u;
        unsigned from = dice >> 16;
        move_money(&bank[from % ACCOUNTS], &bank[(from + 1 + work->number) % ACCOUNTS], 1 + from % 100);
    }
    return NULL;
}

static long sum_of_balances(void) {
    long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        sum += bank[i].cents;
    return sum;
}

static void *auditor(void *arg) {
    *(long *)arg = sum_of_balances();
    return NULL;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    bank = calloc(ACCOUNTS, sizeof *bank);
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&bank[i].lock, NULL);
        bank[i].cents = 100000;
    }

    long audited = 0;
    pthread_t audit, tellers[TELLERS];
    struct work work[TELLERS];
    pthread_create(&audit, NULL, auditor, &audited);
    for (unsigned i = 0; i < TELLERS; i++) {
        work[i] = (struct work){i, rounds};
        pthread_create(&tellers[i], NULL, teller, &work[i]);
    }
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);
    pthread_join(audit, NULL);

    printf("audited %ld cents, now %ld cents after %ld transfers\n", audited, sum_of_balances(), transfers);
    for (int i = 0; i < ACCOUNTS; i++)
        pthread_mutex_destroy(&bank[i].lock);
    free(bank);
    return 0;
}
