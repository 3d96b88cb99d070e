/* run_again.c - the running test starts anew, with other words */
#include "run_again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void run_again(const char *const *words)
{
    enum { MOST = 32 };
    const char *by = getenv("RUN_BY");
    char emulator[1024], program[4000];
    char *argv[MOST + 1];
    int n = 0;
    ssize_t nbytes = readlink("/proc/self/exe", program, sizeof(program) - 1);

    (void)snprintf(emulator, sizeof(emulator), "%s", by ? by : "");
    for (char *word = strtok(emulator, " "); word && n < MOST;
         word = strtok(NULL, " "))
        argv[n++] = word;
    if (nbytes > 0 && n < MOST) {
        program[nbytes] = '\0';
        argv[n++] = program;
    }
    while (*words && n < MOST)
        argv[n++] = (char *)*words++;
    argv[n] = NULL;
    (void)execvp(argv[0], argv);
    _exit(127);
}
