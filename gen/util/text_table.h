/* text_table.h - a table of strings that are referred to by offset */
#ifndef KPK_GEN_TEXT_TABLE_H
#define KPK_GEN_TEXT_TABLE_H

#include <stdint.h>
#include <stdio.h>

struct strings;

/* NULL without memory. Offset 0 is "". */
struct strings *strings_new(void);
void strings_free(struct strings *s);

/* The offset of a text, which is added unless it is there; UINT32_MAX without
 * memory or room. */
uint32_t strings_add(struct strings *s, const char *text);

/* The table as C: `static const char strings[] = ...;` */
void strings_write(FILE *f, const struct strings *s);

#endif
