/* alloc_or_exit.h - memory for commands that cannot go on without it
 *
 * If there is none, the command says so and ends with status 1.
 */
#ifndef KPK_GEN_ALLOC_OR_EXIT_H
#define KPK_GEN_ALLOC_OR_EXIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Allocates n zeroed elements, at least one. */
void *alloc_new(size_t n, size_t nbytes);
/* Makes room for one more element in an array of n, which grows by doubling. */
void *alloc_grow(void *array, size_t n, size_t nbytes);
/* A stream that writes to memory. The text is complete when the stream is
 * closed; the caller frees it. */
FILE *alloc_stream(char **text, size_t *nbytes);
/* Ends the command because there is no memory. */
void alloc_none(void);
/* The text that printf() would print. */
char *alloc_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *alloc_vtext(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));

#endif
