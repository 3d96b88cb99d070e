/* import_table.c - CSV files of a tree as tables of its kernels
 *
 * CSV files with equal names in one kind make one table, whatever their
 * targets. The table has the columns of all files. A row names a kernel
 * (`knl_name`, or `kernel`, which may be a glob) and the file that it is in
 * (`co_name`, beside the CSV or in a folder there); without that column, the
 * kernel is looked for in all code objects below the CSV's folder.
 */
#include "pack/import_table.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack/config_table.h"
#include "util/alloc_or_exit.h"
#include "util/file.h"

#define ROWS_MAX 100000u

/* The row at hand. */
struct reading {
    struct import *in;
    struct import_table *table;
    const struct import_csv *csv;
    size_t row;
    bool globs; /* whether kernels may be told by globs */
};

__attribute__((format(printf, 2, 3))) static void say(const struct reading *r,
                                                      const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s:%zu: ", r->csv->place.file, r->csv->csv->lines[r->row]);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static const char *cell_of(const struct import_csv *csv, size_t row,
                           size_t column)
{
    return column < csv->csv->ncolumns
               ? csv->csv->cells[row * csv->csv->ncolumns + column]
               : "";
}

const char *import_cell(const struct import_table *table,
                        const struct import_row *row, size_t column)
{
    if (table->has_folders && column == table->ncolumns - 1)
        return row->folder;
    return cell_of(row->from, row->csv_row,
                   csv_column(row->from->csv, table->columns[column].name));
}

/* ---- columns ------------------------------------------------------------- */

static struct pack_column *find_column(const struct import_table *t,
                                       const char *name)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return &t->columns[i];
    return NULL;
}

/* Adds a file's column to the table, or checks it against the table's column
 * with its name. */
static void add_column(struct import *in, struct import_table *t,
                       const struct import_csv *csv, size_t c)
{
    const char *name = csv->csv->names[c];
    struct pack_column *column = find_column(t, name);
    char error[CSV_ERROR_MAX];
    enum kpk_cell_type type;
    bool tells;

    if (!config_column_type(csv->csv, c, true, &type, &tells, error)) {
        fprintf(stderr, "%s\n", error);
        in->nbad++;
        return;
    }
    if (!column) {
        t->columns = alloc_grow(t->columns, t->ncolumns, sizeof(*t->columns));
        column = &t->columns[t->ncolumns++];
        *column = (struct pack_column){name, type, tells};
        return;
    }
    if (!tells)
        return;
    if (!column->known ||
        (column->type == KPK_CELL_INT && type == KPK_CELL_FLOAT)) {
        column->type = type;
    } else if ((type == KPK_CELL_STRING) != (column->type == KPK_CELL_STRING)) {
        import_bad(in, csv->place.file,
                   "column %s holds %s, but %s in the table's other files",
                   name, type == KPK_CELL_STRING ? "text" : "numbers",
                   type == KPK_CELL_STRING ? "numbers" : "text");
    }
    column->known = true;
}

static bool find_keys(struct import *in, struct import_csv *csv)
{
    const size_t n = csv->csv->ncolumns;

    csv->kernel_column = csv_column(csv->csv, "knl_name");
    if (csv->kernel_column == n)
        csv->kernel_column = csv_column(csv->csv, "kernel");
    csv->file_column = csv_column(csv->csv, "co_name");
    csv->target_column = csv_column(csv->csv, "target");
    if (csv->kernel_column == n)
        import_bad(in, csv->place.file,
                   "no column is named knl_name or kernel");
    return csv->kernel_column < n;
}

/* ---- rows ---------------------------------------------------------------- */

static void add_row(const struct reading *r, uint32_t number,
                    const char *target, const struct import_object *object,
                    const char *folder)
{
    struct import_table *t = r->table;

    if (t->nrows == ROWS_MAX) {
        say(r, "more than %u rows", ROWS_MAX);
        r->in->nbad++;
        return;
    }
    t->rows = alloc_grow(t->rows, t->nrows, sizeof(*t->rows));
    t->rows[t->nrows++] =
        (struct import_row){object->object.co->kernels[number].name,
                            number,
                            target,
                            object->module,
                            folder,
                            r->csv,
                            r->row};
    t->has_folders |= *folder != '\0';
}

/* The processor of a target ID. */
static const char *processor_of(const char *target)
{
    return alloc_text("%.*s", (int)strcspn(target, ":"), target);
}

/* The rows of the kernels in an object that the line names. */
static bool take_object(const struct reading *r,
                        const struct import_object *object, const char *folder)
{
    const char *wanted = cell_of(r->csv, r->row, r->csv->kernel_column);
    const char *target = cell_of(r->csv, r->row, r->csv->target_column);
    const struct codeobj *co = object->object.co;
    bool any = false;

    if (!*target && *object->place.label)
        target = processor_of(object->place.label);
    for (uint32_t i = 0; i < co->nkernels; i++) {
        const char *kernel = co->kernels[i].name;

        if (strcmp(kernel, wanted) != 0 &&
            !(r->globs && fnmatch(wanted, kernel, 0) == 0))
            continue;
        any = true;
        add_row(r, i, target, object, folder);
    }
    return any;
}

/* A CSV in a target's folder is about the files for this target. */
static bool label_fits(const struct reading *r,
                       const struct import_object *object)
{
    const char *target = cell_of(r->csv, r->row, r->csv->target_column);
    const size_t n = strlen(target);

    return (!*r->csv->place.label ||
            strcmp(r->csv->place.label, object->place.label) == 0) &&
           strncmp(target, object->object.co->target, n) == 0 &&
           (n == 0 || object->object.co->target[n] == '\0' ||
            object->object.co->target[n] == ':');
}

/* The first object whose path is not below a text. */
static size_t first_at(const struct import *in, const char *path)
{
    size_t low = 0, high = in->nobjects;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strcmp(in->objects[middle].place.path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The part of a path behind a folder; NULL if the folder is not in the path. */
static const char *inside(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    if (n == 0)
        return path;
    return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1
                                                           : NULL;
}

/*
 * A line that names a file is about the objects in this file, or else in files
 * with the name one folder down. A line without a file is about all objects
 * below the folder.
 */
static void read_row(const struct reading *r)
{
    const struct import_place *place = &r->csv->place;
    const char *name = cell_of(r->csv, r->row, r->csv->file_column);
    const char *kernel = cell_of(r->csv, r->row, r->csv->kernel_column);
    const char *slash = *place->folder ? "/" : "";
    char *exact = alloc_text("%s%s%s", place->folder, slash, name);
    char *below = alloc_text("%s%s", place->folder, slash);
    bool at_place = false, found = false, any = false;

    for (size_t i = first_at(r->in, exact);
         *name && i < r->in->nobjects &&
         strcmp(r->in->objects[i].place.path, exact) == 0;
         i++)
        if (label_fits(r, &r->in->objects[i])) {
            at_place = found = true;
            any |= take_object(r, &r->in->objects[i], "");
        }
    for (size_t i = first_at(r->in, below); !at_place && i < r->in->nobjects;
         i++) {
        const struct import_object *object = &r->in->objects[i];
        const char *rest = inside(object->place.path, place->folder);
        const char *end = rest ? strchr(rest, '/') : NULL;

        if (!rest)
            break;
        if (!label_fits(r, object) ||
            (*name && !(end && strcmp(end + 1, name) == 0)))
            continue;
        found = true;
        any |= take_object(r, object,
                           *name ? alloc_text("%.*s", (int)(end - rest), rest)
                                 : "");
    }
    free(exact);
    free(below);
    if (*name && !found) {
        say(r, "note: there is no %s; the row is left out", name);
    } else if (!any) {
        say(r, "no kernel %s in %s", kernel,
            *name ? name : "the code objects beside the table");
        r->in->nbad++;
    }
}

static void check_target(const struct reading *r)
{
    const char *target = cell_of(r->csv, r->row, r->csv->target_column);

    if (!*target)
        return;
    if (!config_is_processor(target))
        say(r, "no such processor: %s", target);
    else if (!*r->csv->place.label ||
             strcmp(processor_of(r->csv->place.label), target) == 0)
        return;
    else
        say(r, "target %s in a folder of %s", target, r->csv->place.label);
    r->in->nbad++;
}

/* ---- tables -------------------------------------------------------------- */

static const char *base_name(const struct import_place *place)
{
    return file_name(place->module);
}

/* The file's name, with the folders below the kind's if files of that name lie
 * in several of them. */
static const char *table_name(const struct import *in,
                              const struct import_place *place)
{
    const size_t n = strlen(place->kind);

    for (size_t i = 0; i < in->ncsvs; i++) {
        const struct import_place *other = &in->csvs[i].place;

        if (strcmp(other->kind, place->kind) == 0 &&
            strcmp(other->folder, place->folder) != 0 &&
            strcmp(base_name(other), base_name(place)) == 0)
            return place->module + (n ? n + 1 : 0);
    }
    return base_name(place);
}

static struct import_table *table_of(struct import *in,
                                     const struct import_csv *csv)
{
    const char *name = table_name(in, &csv->place);

    for (size_t i = 0; i < in->ntables; i++)
        if (strcmp(in->tables[i].kind, csv->place.kind) == 0 &&
            strcmp(in->tables[i].name, name) == 0)
            return &in->tables[i];
    in->tables = alloc_grow(in->tables, in->ntables, sizeof(*in->tables));
    in->tables[in->ntables] =
        (struct import_table){.name = name, .kind = csv->place.kind};
    return &in->tables[in->ntables++];
}

static int by_kernel(const void *a, const void *b)
{
    const struct import_row *x = a, *y = b;
    int order = strcmp(x->kernel, y->kernel);

    if (order == 0)
        order = (x->from > y->from) - (x->from < y->from);
    if (order == 0)
        order = (x->csv_row > y->csv_row) - (x->csv_row < y->csv_row);
    return order ? order : (x->module > y->module) - (x->module < y->module);
}

/* By the whole row; 0 if both say the same about the same kernel. */
static int by_content(const void *a, const void *b)
{
    const struct import_row *x = a, *y = b;
    int order = strcmp(x->kernel, y->kernel);

    if (order == 0)
        order = strcmp(x->target, y->target);
    if (order == 0)
        order = (x->module > y->module) - (x->module < y->module);
    if (order == 0)
        order = (x->from > y->from) - (x->from < y->from);
    for (size_t c = 0; order == 0 && c < x->from->csv->ncolumns; c++)
        order = strcmp(cell_of(x->from, x->csv_row, c),
                       cell_of(y->from, y->csv_row, c));
    return order;
}

static int by_content_and_line(const void *a, const void *b)
{
    const int order = by_content(a, b);

    return order ? order : by_kernel(a, b);
}

/* A kernel may have rows that differ, but no row may come twice. A line that
 * matches several code objects of a module makes one row. */
static void drop_twins(struct import *in, struct import_table *t)
{
    struct import_row *rows = t->rows;
    size_t n = 0;

    if (!rows)
        return;
    qsort(rows, t->nrows, sizeof(*rows), by_content_and_line);
    for (size_t i = 0; i < t->nrows; i++) {
        const struct import_row *row = &rows[i];
        const struct import_row *last = n ? &rows[n - 1] : NULL;

        if (!last || by_content(last, row) != 0) {
            rows[n++] = *row;
        } else if (last->csv_row != row->csv_row) {
            say(&(struct reading){in, t, row->from, row->csv_row, false},
                "the same row of kernel %s is in line %zu already", row->kernel,
                last->from->csv->lines[last->csv_row]);
            in->nbad++;
        }
    }
    t->nrows = n;
    qsort(rows, n, sizeof(*rows), by_kernel);
}

static int by_kind(const void *a, const void *b)
{
    const struct import_table *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);

    return order ? order : strcmp(x->name, y->name);
}

/* A kind's tables belong to a module with the kind's name. If a code object has
 * made a module with this name, they belong to NAME.tables. */
static const char *holder_of(const struct import *in, const char *kind)
{
    const char *name = *kind ? kind : in->pack;

    for (size_t m = 0; m < in->nmodules; m++)
        if (strcmp(in->modules[m].name, name) == 0)
            return alloc_text("%s.tables", name);
    return name;
}

static void end_table(struct import *in, struct import_table *t)
{
    drop_twins(in, t);
    if (!t->has_folders)
        return;
    if (find_column(t, "folder")) {
        import_bad(in, t->rows[0].from->place.file,
                   "has a column 'folder', the name that the column of found "
                   "folders has");
        t->has_folders = false;
        return;
    }
    t->columns = alloc_grow(t->columns, t->ncolumns, sizeof(*t->columns));
    t->columns[t->ncolumns++] =
        (struct pack_column){"folder", KPK_CELL_STRING, true};
}

void import_tables(struct import *in)
{
    struct import_table **tables =
        alloc_new(in->ncsvs, sizeof(struct import_table *));

    /* Twice: the array of tables moves while it grows. */
    for (size_t i = 0; i < in->ncsvs; i++)
        (void)table_of(in, &in->csvs[i]);
    for (size_t i = 0; i < in->ncsvs; i++)
        tables[i] = table_of(in, &in->csvs[i]);
    for (size_t i = 0; i < in->ncsvs; i++) {
        struct import_csv *csv = &in->csvs[i];
        struct reading r = {in, tables[i], csv, 0, false};

        if (!find_keys(in, csv))
            continue;
        for (size_t c = 0; c < csv->csv->ncolumns; c++)
            if (c != csv->kernel_column && c != csv->file_column &&
                c != csv->target_column)
                add_column(in, tables[i], csv, c);
        r.globs = strcmp(csv->csv->names[csv->kernel_column], "kernel") == 0;
        for (; r.row < csv->csv->nrows; r.row++) {
            check_target(&r);
            read_row(&r);
        }
    }
    for (size_t i = 0; i < in->ntables; i++)
        end_table(in, &in->tables[i]);
    if (in->ntables)
        qsort(in->tables, in->ntables, sizeof(*in->tables), by_kind);
    for (size_t i = 0; i < in->ntables; i++)
        in->tables[i].holder = holder_of(in, in->tables[i].kind);
    free(tables);
}
