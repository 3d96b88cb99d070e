/* doc.h - the comments that a kernel's source has for it */
#ifndef KPK_GEN_DOC_H
#define KPK_GEN_DOC_H

#include <stdio.h>

struct doc;

/* Reads a source; a missing file counts as one without comments. NULL, and a
 * sentence on standard error, if it is there and cannot be read. */
struct doc *doc_read(const char *path);
void doc_free(struct doc *doc);

/*
 * doc_write_file() writes the comment that the file begins with,
 * doc_write_line() the one right above the declaration on a line, counted from
 * 1: block or `//` comments, with nothing but the declaration between. Lines
 * come out as " * text", safe within a comment. They return how many.
 */
size_t doc_write_file(FILE *f, const struct doc *doc);
size_t doc_write_line(FILE *f, const struct doc *doc, size_t line);

#endif
