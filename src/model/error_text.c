/* error_text.c - what went wrong, as one sentence for the user */
#include "error_text.h"

#include <stdarg.h>
#include <stdio.h>

/* A file's bytes may be in the sentence: what would steer a terminal, a line's
 * end included, becomes a question mark. */
static void make_plain(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++)
        if (*at < ' ' || *at == 0x7f ||
            /* U+0080 to U+009F */
            (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
            *at = '?';
}

void set_fault(struct fault *fault, const char *format, ...)
{
    va_list list;

    if (fault->text[0])
        return;
    va_start(list, format);
    (void)vsnprintf(fault->text, sizeof(fault->text), format, list);
    va_end(list);
    make_plain(fault->text);
}
