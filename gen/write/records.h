/* records.h - rows of the generated tables, one function a record
 *
 * Names and text cells are offsets in the table of strings.
 */
#ifndef KPK_GEN_RECORDS_H
#define KPK_GEN_RECORDS_H

#include <stdio.h>

#include "pack/contents.h"

/* The first lines of each generated C file. */
void record_write_top(FILE *f, const char *what, const char *name);

void record_write_arg(FILE *f, uint32_t name, const struct codeobj_arg *arg);
void record_write_attrs(FILE *f, const struct kpk_kernel_attrs *attrs);
void record_write_sha256(FILE *f, const uint8_t sha256[32]);
void record_write_column(FILE *f, uint32_t name, enum kpk_cell_type type);
void record_write_cell(FILE *f, enum kpk_cell_type type, const char *cell,
                       uint32_t string);

#endif
