/* memory.h - memory of a command that has no use without it
 *
 * Without any, the command says so and ends with status 1.
 */
#ifndef KPK_GEN_MEMORY_H
#define KPK_GEN_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* n zeroed elements, one at least. */
void *memory_new(size_t n, size_t nbytes);
/* Room for one more in an array of n; it grows by doubling. */
void *memory_grow(void *array, size_t n, size_t nbytes);
/* A stream into memory, to be freed, which is there when the stream is closed.
 */
FILE *memory_stream(char **text, size_t *nbytes);
/* Ends the command for want of memory. */
void memory_none(void);
/* The text that printf() would print. */
char *memory_text(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
char *memory_vtext(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));

#endif
