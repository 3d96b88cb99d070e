/* fault.c - what went wrong, as one sentence for the user */
#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

void set_fault(struct fault *fault, const char *format, ...)
{
    va_list list;

    if (fault->text[0])
        return;
    va_start(list, format);
    (void)vsnprintf(fault->text, sizeof(fault->text), format, list);
    va_end(list);
}
