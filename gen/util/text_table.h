/* text_table.h - a table of strings that are referred to by offset */
#ifndef KPK_GEN_TEXT_TABLE_H
#define KPK_GEN_TEXT_TABLE_H

#include <stdint.h>
#include <stdio.h>

struct strings;

/* NULL without memory. Offset 0 is "". */
struct strings *strings_new(void);
void strings_free(struct strings *s);

/* Gives the offset of a text, and adds the text if it is new. UINT32_MAX if
 * memory or room is missing. */
uint32_t strings_add(struct strings *s, const char *text);

/* The table as C: `static const char strings[] = ...;` */
void strings_write(FILE *f, const struct strings *s);

#endif
