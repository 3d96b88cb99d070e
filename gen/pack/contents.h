/* contents.h - a pack before it is written: pack > part > module > kernel,
 * object, configuration table
 *
 * A build fills it from a module's code objects and the CSV files beside its
 * source (build.c), an import from a tree of code objects and CSV files
 * (import_parts.c). One writer turns it into C (write/part.h).
 */
#ifndef KPK_GEN_CONTENTS_H
#define KPK_GEN_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codeobj.h"

/* A code object and the SHA-256 of its bytes. */
struct pack_object {
    const struct codeobj *co;
    uint8_t sha256[32];
};

struct pack_column {
    const char *name;
    enum kpk_cell_type type;
    bool known; /* false until a cell determines the type */
};

struct pack_row {
    size_t module;      /* number in the part, of the row's kernel */
    uint32_t kernel;    /* number in that module */
    const char *target; /* a processor; "" for any */
    const char **cells; /* [ncolumns], as text */
};

/* A configuration table: one CSV file, or several with equal names. */
struct pack_table {
    const char *name;
    struct pack_column *columns;
    size_t ncolumns;
    struct pack_row *rows; /* sorted by kernel, then as in the files */
    size_t nrows;
    bool spans; /* rows may name kernels of any module in the part */
};

/* Every object of a module has the kernels of its reference. */
struct pack_module {
    const char *name;
    const struct pack_object *const *objects; /* [nobjects], by target */
    size_t nobjects;                          /* 0: it has only tables */
    const struct codeobj *reference;          /* NULL if it has only tables */
    const struct pack_table *const *tables;   /* [ntables], by name */
    size_t ntables;
};

/* A part becomes a C file and a member of the archive. */
struct pack_part {
    const char *pack;
    const char *name; /* of a module, or of an import's kind */
    struct pack_module *modules;
    size_t nmodules;
    bool imported; /* modules are an array, and code objects lie in one file */
};

#endif
