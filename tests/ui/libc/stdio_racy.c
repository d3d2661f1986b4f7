// fwrite, fread and fgets touch the caller's buffers.
// expect: data-race global=outgoing op=write,read lines=A,D
// expect: data-race global=incoming op=write,write lines=B,E
// expect: data-race global=line op=write,write lines=C,F
#include <stdio.h>
#include "start.h"

char outgoing[32] = "a line\nand more";
char incoming[32], line[32];
FILE *file;

void *first(void *arg)
{
    (void)arg;
    outgoing[3] = 'i'; // A
    incoming[3] = 1;   // B
    line[2] = 1;       // C
    hidden_pass();
    return 0;
}

void *second(void *arg)
{
    (void)arg;
    hidden_reach(1);
    must(fwrite(outgoing, 1, 15, file) == 15); // D
    rewind(file);
    must(fread(incoming, 1, 15, file) == 15);  // E
    rewind(file);
    must(fgets(line, 16, file) == line);       // F
    return 0;
}

int main(void)
{
    file = tmpfile();
    must(file != 0);
    both(first, second);
    fclose(file);
    return 0;
}
