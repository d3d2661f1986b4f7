// A small bank with one mistake of each kind. Compiled by the tests; never run.
#include <pthread.h>
#include <stdlib.h>

// A label whose address the tests use as a return address.
#define SPOT(name) __asm__ volatile(".globl spot_" #name "\nspot_" #name ":")

struct account {
    int number;
    long balance;
    pthread_mutex_t lock;
};

struct account accounts[4];
int total;
pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t vault = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rates = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t paid = PTHREAD_COND_INITIALIZER;

static void add(long amount)
{
    static int calls;
    calls++;
    SPOT(calls);
    total += amount;
    SPOT(add_total);
}

void deposit(int who, long amount)
{
    pthread_mutex_lock(&books);
    SPOT(lock_books);
    accounts[who].balance += amount;
    SPOT(deposit_balance);
    add(amount);
    SPOT(call_add);
    pthread_mutex_unlock(&books);
    SPOT(unlock_books);
}

long audit(void)
{
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += accounts[i].balance;
        SPOT(audit_balance);
    }
    return sum;
}

void transfer(void)
{
    pthread_mutex_lock(&books);
    SPOT(transfer_books);
    pthread_mutex_lock(&vault);
    SPOT(transfer_vault);
    pthread_mutex_unlock(&vault);
    pthread_mutex_unlock(&books);
}

void inspect(void)
{
    pthread_mutex_lock(&vault);
    SPOT(inspect_vault);
    pthread_mutex_lock(&books);
    SPOT(inspect_books);
    pthread_mutex_unlock(&books);
    SPOT(inspect_unlock);
    pthread_mutex_unlock(&vault);
}

void wait_paid(void)
{
    pthread_cond_wait(&paid, &books);
    SPOT(wait_paid);
    pthread_rwlock_unlock(&rates);
    SPOT(unlock_rates);
    pthread_mutex_destroy(&books);
    SPOT(destroy_books);
}

void on_signal(int number)
{
    (void)number;
    free(malloc(16));
    SPOT(handler_malloc);
}

long *open_book(void)
{
    long *book = malloc(64);
    SPOT(open_book);
    return book;
}

void *teller(void *book)
{
    deposit(2, 100);
    SPOT(teller_deposit);
    *(long *)book = 1;
    SPOT(teller_book);
    transfer();
    SPOT(teller_transfer);
    inspect();
    SPOT(teller_inspect);
    return NULL;
}

int main(void)
{
    long *book = open_book();
    SPOT(main_open_book);
    pthread_t one, two;
    pthread_create(&one, NULL, teller, book);
    SPOT(create_one);
    pthread_create(&two, NULL, teller, book);
    SPOT(create_two);
    total = (int)audit();
    SPOT(main_audit);
    free(book);
    SPOT(free_book);
    pthread_join(one, NULL);
    SPOT(join_one);
    pthread_join(two, NULL);
    SPOT(join_two);
    return 0;
}
