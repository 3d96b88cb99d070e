/* tables.h - writers of the generated C, and the checks before them */
#ifndef KPK_GEN_TABLES_H
#define KPK_GEN_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "model/config_table.h"
#include "read/codeobj.h"

/*
 * tables_agree() says whether every object holds the kernels of the first,
 * with the same argument layout. The sentence that says what differs goes to
 * stderr, as `FILE: what`.
 */
bool tables_agree(struct codeobj *const *objects, size_t nobjects);

/* The same of two objects, without a word, and the names of arguments too, for
 * those tell padding. */
bool tables_alike(const struct codeobj *a, const struct codeobj *b);

/* The table of one module of a pack: build/gen/NAME.c. Objects sorted by
 * target, its configuration tables by name. */
void tables_write_module(FILE *f, const char *pack, const char *name,
                         struct codeobj *const *objects, size_t nobjects,
                         struct config_table *const *configs, size_t nconfigs);

/* The table of a pack: build/gen/pack.c. Modules sorted by name. */
void tables_write_pack(FILE *f, const char *pack, char *const *modules,
                       size_t nmodules);

/* The header of a pack; one object a module says what kernels it has. */
void tables_write_header(FILE *f, const char *pack, char *const *modules,
                         struct codeobj *const *objects, size_t nmodules);

/* The offset where a kernel's last argument ends; the size of its segment if
 * it has no list of arguments. */
uint32_t tables_explicit_nbytes(const struct codeobj_kernel *k);

/* Parts of tables that all writers share. A cell of text is an offset. */
void tables_write_arg(FILE *f, uint32_t name, const struct codeobj_arg *arg);
void tables_write_attrs(FILE *f, const struct kpk_kernel_attrs *attrs);
void tables_write_sha256(FILE *f, const uint8_t sha256[32]);
void tables_write_column(FILE *f, uint32_t name, enum kpk_cell_type type);
void tables_write_cell(FILE *f, enum kpk_cell_type type, const char *cell,
                       uint32_t string);

/* A configuration table as a writer has it: text of a cell, that of column
 * number ncolumns being the row's target, and a column's type. */
struct tables_cells {
    const void *table;
    size_t nrows, ncolumns;
    const char *(*cell)(const void *table, size_t row, size_t column);
    enum kpk_cell_type (*type)(const void *table, size_t column);
};

/* Writes index_NUMBER, which is 0 where a table can have none: then, and
 * without memory, it is searched the long way. */
void tables_write_index(FILE *f, const struct tables_cells *table,
                        size_t number);

#endif
