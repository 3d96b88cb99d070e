/* text.h - copies of texts that need not end with a NUL */
#ifndef KPK_BASE_TEXT_H
#define KPK_BASE_TEXT_H

#include <stdlib.h>
#include <string.h>

/* A text of its own, by malloc(); NULL without memory. */
static inline char *text_copy(const char *text, size_t nbytes)
{
    char *copy = malloc(nbytes + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, nbytes);
    copy[nbytes] = '\0';
    return copy;
}

#endif
