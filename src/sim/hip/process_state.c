/* process_state.c - state of the process: devices, settings, one lock */
#include "process_state.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

struct process process = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .release = RELEASE_DEFAULT};

void process_complain(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "kpk-sim: %s\n", text);
}

struct device *process_device(int ordinal)
{
    return ordinal >= 0 && ordinal < process.ndevices
               ? &process.devices[ordinal]
               : NULL;
}
