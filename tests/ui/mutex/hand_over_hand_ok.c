// Locks released in another order than they were taken.
// expect: clean
#include "start.h"

struct node {
    pthread_mutex_t lock;
    int value;
};

struct node list[8];

void *walker(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&list[0].lock);
    for (int i = 0; i < 7; i++) {
        list[i].value++;
        pthread_mutex_lock(&list[i + 1].lock);
        pthread_mutex_unlock(&list[i].lock);
    }
    list[7].value++;
    pthread_mutex_unlock(&list[7].lock);
    return 0;
}

int main(void)
{
    for (int i = 0; i < 8; i++)
        pthread_mutex_init(&list[i].lock, 0);
    both(walker, walker);
    for (int i = 0; i < 8; i++)
        must(list[i].value == 2);
    return 0;
}
