/* import.h - a tree of prebuilt code objects, on its way to a pack
 *
 * The steps, a file each: import_scan() finds the files and reads them,
 * import_modules() makes modules of the code objects, import_tables() makes
 * tables of the CSV files, import_parts() the model that is written. A fault of
 * a file is reported at once, as `FILE: what`, and counted; with any fault the
 * import writes nothing.
 *
 * Names. A folder called as a target ID ("gfx942") says what the code objects
 * in it are for, and is no part of a module's name: DIR/gfx942/fmoe/silu/x.co
 * and DIR/gfx950/fmoe/silu/x.co are two code objects of module "fmoe/silu/x".
 * The folder behind it ("fmoe"), its kind, is the module that the tables of
 * the CSV files below belong to, and what a pack is cut along: each kind is an
 * archive member of its own. Outside of such folders a file's name may end in
 * a target ID instead, as in x-gfx942.hsaco.
 */
#ifndef KPK_GEN_IMPORT_H
#define KPK_GEN_IMPORT_H

#include "util/memory.h"
#include "model.h"
#include "read/codeobj.h"
#include "read/csv.h"
#include "base/hipk.h"
#include "read/triton.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A file's place in the tree. The import owns the strings. */
struct import_place {
    const char *file;   /* its path, for messages */
    const char *label;  /* target ID in its path; "" if there is none */
    const char *kind;   /* "fmoe"; "" at the top */
    const char *folder; /* less the label: "fmoe/silu"; "" at the top */
    const char *path;   /* with the file's name: "fmoe/silu/x.co" */
    const char *module; /* "fmoe/silu/x" */
};

struct import_object {
    struct import_place place;
    struct model_object object;
    size_t module;               /* its number in import.modules */
    const struct triton *triton; /* from Triton's JSON, NULL without one */
    uint32_t triton_kernel;      /* number of the kernel that it describes */
};

/* Code objects that offer the same kernels. Several modules have one name if
 * targets differ in what they offer. */
struct import_module {
    const char *name;
    const char *kind;
    size_t first, nobjects; /* in import.order */
};

/* A cell's text and its number follow from the column's type. */
struct import_row {
    const char *kernel;
    uint32_t number;    /* the kernel's in its module */
    const char *target; /* "" for any */
    size_t module;      /* number in import.modules */
    const char *folder; /* the code object's; "" if co_name names it */
    const struct import_csv *from;
    size_t csv_row;
};

struct import_csv {
    struct import_place place;
    struct csv *csv;
    size_t kernel_column, file_column, target_column; /* ncolumns: none */
};

struct import_table {
    const char *name; /* the files' name less ".csv" */
    const char *kind;
    const char *holder; /* the module that it belongs to */
    struct model_column *columns;
    size_t ncolumns;
    bool has_folders;        /* the last column is the rows' folder */
    struct import_row *rows; /* sorted by kernel, then as in the files */
    size_t nrows;
};

/* One of AMD's archives that has been read. */
struct import_archive {
    char *real;       /* its path without links */
    const char *file; /* equals place.file of the archive's objects */
};

/* A library whose code lies in such archives. */
struct import_library {
    const char *file;
    struct hipk hipk;
};

/* A file of the host's that has no code for GPUs to take. */
struct import_host {
    const char *file;
    const char *message; /* refusal in trees without AMD's archives */
};

struct import {
    const char *pack;
    const char *root;
    const char *real_root;         /* without links, while files are read */
    struct import_object *objects; /* sorted by path, label, target */
    size_t nobjects;
    struct import_csv *csvs; /* sorted by path, label */
    size_t ncsvs;
    struct import_archive *archives;
    size_t narchives;
    struct import_library *libraries;
    size_t nlibraries;
    struct import_host *hosts;
    size_t nhosts;
    bool is_amds; /* it has a sound archive, or a library that wants some */
    struct import_object **order;  /* objects by module */
    struct import_module *modules; /* sorted by name */
    size_t nmodules;
    struct import_table *tables; /* sorted by kind and name */
    size_t ntables;
    uint64_t nbytes; /* sum over all code objects */
    size_t nbad;
};

/* Says what is wrong with a file, and counts it. */
void import_bad(struct import *in, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Limits for one file and for all code objects together, which stay in memory
 * until the pack is written. */
#define IMPORT_FILE_NBYTES_MAX ((size_t)2 << 30)
#define IMPORT_TREE_NBYTES_MAX ((uint64_t)4 << 30)

/*
 * import_file.c: takes the code objects of a file. `original` is NULL, or the
 * name of a file with a name of code beside a copy without one: x.co beside
 * x.co.orig. Code in such a copy is passed over with a note.
 */
void import_file(struct import *in, const struct import_place *place,
                 const char *original);

/* Takes what should be a code object for a target; `what` is "" or where in
 * the file it is, for messages. */
void import_image(struct import *in, const struct import_place *place,
                  const char *what, const unsigned char *data, size_t nbytes,
                  const char *target);

/*
 * import_archive.c: takes the code objects of one of AMD's archives, and, when
 * all files have been read, follows the libraries that refer to archives.
 */
void import_archive(struct import *in, const struct import_place *place,
                    const unsigned char *data, size_t nbytes);
void import_library(struct import *in, const struct import_place *place,
                    const struct hipk *hipk); /* takes *hipk over */
void import_libraries(struct import *in);

/*
 * import_host() remembers a library, program or static archive without code for
 * GPUs. A tree of AMD's has many, whose code is in the archives, or which need
 * none; import_libraries() passes them over there, and refuses them elsewhere.
 */
void import_host(struct import *in, const char *file, const char *message);
/* Whether a path without links is in the tree. */
bool import_is_inside(const struct import *in, const char *real);

/* Whether a file's name says that it holds code objects. */
bool import_claims_code(const char *file);
extern const char *const import_endings[]; /* endings of such names, to NULL */

/* import_triton.c: takes what a JSON file beside a code object says, if it is
 * Triton's. */
void import_triton(struct import *in, struct import_object *object,
                   const char *file);
/* The launch shapes of a module that Triton's files tell; NULL without any. */
const struct model_table *import_triton_table(const struct import *in,
                                              const struct import_module *m);

void import_scan(struct import *in);
void import_modules(struct import *in);
void import_tables(struct import *in);

/* The text of a cell, "" where the row's file has no such column. */
const char *import_cell(const struct import_table *table,
                        const struct import_row *row, size_t column);

/* import_model.c: the parts that a tree makes, one a kind, sorted by name. */
struct model_part *import_parts(const struct import *in, size_t *n);

/*
 * import_tree() reads a tree by these steps. It returns false after it has
 * reported a fault of a file.
 */
bool import_tree(struct import *in);

#endif
