// What is written after a message was sent is not ordered by its receipt.
// expect: data-race global=data op=read,write lines=B,A
#include <sys/ipc.h>
#include <sys/msg.h>
#include "start.h"

int data;
int seen;
int queue;
struct message {
    long type;
    char text[8];
};

void *sender(void *arg)
{
    (void)arg;
    struct message message = {1, "ready"};
    must(msgsnd(queue, &message, sizeof message.text, 0) == 0);
    data = 1; // A
    hidden_pass();
    return 0;
}

void *receiver(void *arg)
{
    (void)arg;
    struct message message;
    must(msgrcv(queue, &message, sizeof message.text, 0, 0) == sizeof message.text);
    hidden_reach(1);
    seen = data; // B
    return 0;
}

int main(void)
{
    queue = msgget(IPC_PRIVATE, 0600);
    must(queue >= 0);
    both(sender, receiver);
    must(msgctl(queue, IPC_RMID, 0) == 0);
    return 0;
}
