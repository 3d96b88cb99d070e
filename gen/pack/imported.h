/* imported.h - what an import has read of a tree so far
 *
 * Each step of an import (import.h) adds to it. A fault of a file is reported
 * at once, as `FILE: what`, and counted; with any fault the import writes
 * nothing.
 */
#ifndef KPK_GEN_IMPORTED_H
#define KPK_GEN_IMPORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hipk.h"
#include "pack/contents.h"
#include "read/csv.h"
#include "read/triton.h"

/* A file's place in the tree. The import owns the strings. */
struct import_place {
    const char *file;   /* its path, for messages */
    const char *label;  /* target ID in its path; "" if there is none */
    const char *kind;   /* "fmoe"; "" at the top */
    const char *folder; /* without the label: "fmoe/silu"; "" at the top */
    const char *path;   /* with the file's name: "fmoe/silu/x.co" */
    const char *module; /* "fmoe/silu/x" */
};

struct import_object {
    struct import_place place;
    struct pack_object object;
    size_t module;               /* its number in import.modules */
    const struct triton *triton; /* from Triton's JSON, NULL without one */
    uint32_t triton_kernel;      /* number of the JSON's kernel */
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
    const char *holder; /* name of its module */
    struct pack_column *columns;
    size_t ncolumns;
    bool has_folders;        /* the last column is the rows' folder */
    struct import_row *rows; /* sorted by kernel, then as in the files */
    size_t nrows;
};

/* An archive of AMD's, after reading. */
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

/* Limits for one file and for all code objects together, which stay in memory
 * until the pack is written. */
#define IMPORT_FILE_NBYTES_MAX ((size_t)2 << 30)
#define IMPORT_TREE_NBYTES_MAX ((uint64_t)4 << 30)

/* Reports a fault of a file, and counts it. */
void import_bad(struct import *in, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether a path without links is in the tree. */
bool import_is_inside(const struct import *in, const char *real);

/* An ending of names of files that must hold code objects. */
struct import_ending {
    const char *text;
    bool of_host; /* a file of the host's without code is no fault either */
};
extern const struct import_ending import_endings[]; /* up to a NULL */

/* The ending of a file's name; NULL if the name does not claim code objects. */
const struct import_ending *import_ending_of(const char *file);

#endif
