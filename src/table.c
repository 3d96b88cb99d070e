/* table.c - walks the configuration tables of modules */
#include "internal.h"

#include <string.h>

size_t kpk_module_table_count(const kpk_module *module)
{
    return module->ntables;
}

/* The public handle is the module's table itself; its strings are found
 * through the module, so both are asked for together. */
kpk_status kpk_i_check_table(const kpk_module *module, size_t table)
{
    if (table < module->ntables)
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_ARG,
                      "module %s has %u configuration tables, so none has the "
                      "number %zu",
                      kpk_module_name(module), (unsigned)module->ntables,
                      table);
}

static kpk_status check_row(const kpk_module *module, size_t table, size_t row)
{
    kpk_status st = kpk_i_check_table(module, table);

    if (st != KPK_OK || row < module->tables[table].nrows)
        return st;
    return kpk_i_fail(KPK_ERR_ARG,
                      "table %s of module %s has %u rows, so none has the "
                      "number %zu",
                      kpk_i_string(module, module->tables[table].name),
                      kpk_module_name(module),
                      (unsigned)module->tables[table].nrows, row);
}

kpk_status kpk_module_table(const kpk_module *module, size_t table,
                            kpk_table_decl *out)
{
    const struct kpk_table *t;
    kpk_status st = kpk_i_check_table(module, table);

    if (st != KPK_OK)
        return st;
    if (!out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_module_table: out is NULL");
    t = &module->tables[table];
    out->name = kpk_i_string(module, t->name);
    out->nrows = t->nrows;
    out->ncolumns = t->ncolumns;
    return KPK_OK;
}

kpk_status kpk_module_find_table(const kpk_module *module, const char *name,
                                 size_t *out)
{
    if (!name || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_module_find_table: %s is NULL",
                          name ? "out" : "name");
    for (uint32_t i = 0; i < module->ntables; i++) {
        if (strcmp(kpk_i_string(module, module->tables[i].name), name) == 0) {
            *out = i;
            return KPK_OK;
        }
    }
    return kpk_i_fail(KPK_ERR_NO_ROW,
                      "module %s has no configuration table \"%s\" among its "
                      "%u",
                      kpk_module_name(module), name, (unsigned)module->ntables);
}

kpk_status kpk_table_column(const kpk_module *module, size_t table,
                            size_t column, kpk_column_decl *out)
{
    const struct kpk_table *t;
    kpk_status st = kpk_i_check_table(module, table);

    if (st != KPK_OK)
        return st;
    t = &module->tables[table];
    if (column >= t->ncolumns || !out)
        return kpk_i_fail(KPK_ERR_ARG,
                          "table %s has %u columns, asked for number %zu%s",
                          kpk_i_string(module, t->name), (unsigned)t->ncolumns,
                          column, out ? "" : "; out is NULL");
    out->name = kpk_i_string(module, t->columns[column].name);
    out->type = (kpk_type)t->columns[column].type;
    return KPK_OK;
}

static bool find_column(const kpk_module *module, const struct kpk_table *t,
                        const char *name, size_t *out)
{
    for (uint32_t c = 0; c < t->ncolumns; c++) {
        if (strcmp(kpk_i_string(module, t->columns[c].name), name) == 0) {
            *out = c;
            return true;
        }
    }
    return false;
}

kpk_status kpk_table_find_column(const kpk_module *module, size_t table,
                                 const char *name, size_t *out)
{
    kpk_status st = kpk_i_check_table(module, table);

    if (st != KPK_OK)
        return st;
    if (!name || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_table_find_column: %s is NULL",
                          name ? "out" : "name");
    if (find_column(module, &module->tables[table], name, out))
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_NO_ROW,
                      "table %s of module %s has no column \"%s\"",
                      kpk_i_string(module, module->tables[table].name),
                      kpk_module_name(module), name);
}

/* The module whose kernel a row is about. */
static const kpk_module *row_module(const kpk_module *module,
                                    const struct kpk_table *t, size_t row)
{
    return t->modules ? &t->modules[t->keys[row].module] : module;
}

const char *kpk_i_row_kernel(const kpk_module *module,
                             const struct kpk_table *t, size_t row)
{
    const kpk_module *m = row_module(module, t, row);

    return kpk_i_string(m, m->kernels[t->keys[row].kernel].name);
}

kpk_status kpk_table_row(const kpk_module *module, size_t table, size_t row,
                         kpk_row *out)
{
    const struct kpk_table *t;
    kpk_status st = check_row(module, table, row);

    if (st != KPK_OK)
        return st;
    if (!out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_table_row: out is NULL");
    t = &module->tables[table];
    out->kernel = kpk_i_row_kernel(module, t, row);
    out->target = kpk_i_string(module, t->keys[row].target);
    out->module = kpk_module_name(row_module(module, t, row));
    return KPK_OK;
}

kpk_status kpk_table_cell(const kpk_module *module, size_t table, size_t row,
                          size_t column, kpk_cell *out)
{
    const struct kpk_table *t;
    const union kpk_cell_data *cell;
    kpk_column_decl decl = {0};
    kpk_status st = check_row(module, table, row);

    if (st == KPK_OK)
        st = kpk_table_column(module, table, column, &decl);
    if (st != KPK_OK)
        return st;
    if (!out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_table_cell: out is NULL");
    t = &module->tables[table];
    cell = &t->cells[row * t->ncolumns + column];
    out->type = decl.type;
    out->i = decl.type == KPK_TYPE_INT ? cell->i : 0;
    out->f = decl.type == KPK_TYPE_FLOAT ? cell->f : (double)out->i;
    out->s = decl.type == KPK_TYPE_STRING ? kpk_i_string(module, cell->s) : "";
    return KPK_OK;
}

_Static_assert(sizeof(kpk_number) == sizeof(union kpk_cell_data),
               "kpack.h and format.h have cells of one size");

kpk_status kpk_table_numbers(const kpk_module *module, size_t table, size_t row,
                             const kpk_number **out)
{
    const struct kpk_table *t;
    kpk_status st = check_row(module, table, row);

    if (st != KPK_OK)
        return st;
    if (!out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_table_numbers: out is NULL");
    t = &module->tables[table];
    *out = (const kpk_number *)&t->cells[row * t->ncolumns];
    return KPK_OK;
}

/* Is the row for this processor? A target ID's settings do not matter. */
bool kpk_i_for_target(const kpk_module *module, const struct kpk_row_key *key,
                      const char *target)
{
    const char *processor = kpk_i_string(module, key->target);
    const size_t n = strlen(processor);

    return n == 0 || !target ||
           (strncmp(processor, target, n) == 0 &&
            (target[n] == '\0' || target[n] == ':'));
}

/* The rows of one kernel stand together, by its name: the first that is not
 * below it. */
size_t kpk_i_first_row_of(const kpk_module *module, const struct kpk_table *t,
                          const char *kernel)
{
    size_t low = 0, high = t->nrows;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strcmp(kpk_i_row_kernel(module, t, middle), kernel) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kpk_status kpk_table_kernel(kpk_instance *inst, const kpk_module *module,
                            size_t table, size_t row, const kpk_kernel **out)
{
    kpk_row decl = {NULL, NULL, NULL};
    kpk_status st;

    if (!inst || !module || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_table_kernel: %s is NULL",
                          !inst     ? "inst"
                          : !module ? "module"
                                    : "out");
    st = kpk_table_row(module, table, row, &decl);
    if (st != KPK_OK)
        return st;
    if (!kpk_i_for_target(module, &module->tables[table].keys[row],
                          inst->device.target))
        return kpk_i_fail(
            KPK_ERR_NO_TARGET,
            "row %zu of table %s is about %s on %s, but device %d is %s. Give "
            "the device's target to kpk_table_select()",
            row, kpk_i_string(module, module->tables[table].name), decl.kernel,
            decl.target, inst->ordinal, inst->device.target);
    return kpk_kernel_get_in(inst, decl.module, decl.kernel, out);
}

/* ---- launch shapes ---- */

/* The named columns of a shape table, with what a missing one stands for. */
enum {
    BLOCK_X,
    BLOCK_Y,
    GRID_X_EACH,
    GRID_Y_EACH,
    SHARED_NBYTES,
    MIN_COLUMNS,
    MAX_COLUMNS,
    NUM_SHAPE_COLUMNS
};
static const struct {
    const char *name;
    int64_t missing;
} shape_columns[NUM_SHAPE_COLUMNS] = {
    [BLOCK_X] = {"block_x", 0},
    [BLOCK_Y] = {"block_y", 1},
    [GRID_X_EACH] = {"grid_x_each", 1},
    [GRID_Y_EACH] = {"grid_y_each", 0}, /* 0: the grid has one row */
    [SHARED_NBYTES] = {"shared_nbytes", 0},
    [MIN_COLUMNS] = {"min_columns", 0},
    [MAX_COLUMNS] = {"max_columns", INT64_MAX},
};

static void read_shape_row(const kpk_module *module, const struct kpk_table *t,
                           size_t row, int64_t values[NUM_SHAPE_COLUMNS])
{
    for (int k = 0; k < NUM_SHAPE_COLUMNS; k++) {
        size_t c;

        values[k] = shape_columns[k].missing;
        if (find_column(module, t, shape_columns[k].name, &c) &&
            t->columns[c].type == KPK_CELL_INT)
            values[k] = t->cells[row * t->ncolumns + c].i;
    }
}

/* Blocks of `each` that cover n, at least one, within what HIP launches. */
static uint32_t blocks_for(uint64_t n, int64_t each, uint64_t block)
{
    const uint64_t most = block ? 0xffffffffu / block : 1;
    uint64_t blocks = 1;

    if (each > 0)
        blocks = n / (uint64_t)each + (n % (uint64_t)each != 0);
    if (blocks > most)
        blocks = most;
    return blocks ? (uint32_t)blocks : 1;
}

/* The first table of the module that has launch shapes. */
static const struct kpk_table *shape_table(const kpk_module *module)
{
    size_t c;

    for (uint32_t i = 0; i < module->ntables; i++)
        if (!module->tables[i].modules &&
            find_column(module, &module->tables[i], shape_columns[BLOCK_X].name,
                        &c))
            return &module->tables[i];
    return NULL;
}

kpk_status kpk_module_shape(const kpk_module *module, size_t kernel,
                            const char *target, uint64_t n, uint64_t columns,
                            kpk_shape *out)
{
    const struct kpk_table *t = shape_table(module);
    const char *name;
    int64_t v[NUM_SHAPE_COLUMNS];

    if (kernel >= module->nkernels || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_module_shape: kernel %zu of %u%s",
                          kernel, (unsigned)module->nkernels,
                          out ? "" : "; out is NULL");
    name = kpk_i_string(module, module->kernels[kernel].name);
    for (size_t row = t ? kpk_i_first_row_of(module, t, name) : 0;
         t && row < t->nrows && t->keys[row].kernel == kernel; row++) {
        if (!kpk_i_for_target(module, &t->keys[row], target))
            continue;
        read_shape_row(module, t, row, v);
        if (columns < (uint64_t)v[MIN_COLUMNS] ||
            columns > (uint64_t)v[MAX_COLUMNS])
            continue;
        out->block[0] = (uint32_t)v[BLOCK_X];
        out->block[1] = (uint32_t)v[BLOCK_Y];
        out->block[2] = 1;
        out->grid[0] = blocks_for(n, v[GRID_X_EACH], out->block[0]);
        out->grid[1] = blocks_for(columns, v[GRID_Y_EACH], out->block[1]);
        out->grid[2] = 1;
        out->shared_nbytes = (uint32_t)v[SHARED_NBYTES];
        return KPK_OK;
    }
    return kpk_i_fail(KPK_ERR_NO_ROW,
                      "module %s recommends no launch shape for %s with %llu "
                      "columns",
                      kpk_module_name(module), name,
                      (unsigned long long)columns);
}

kpk_status kpk_kernel_shape(const kpk_kernel *kernel, uint64_t n,
                            uint64_t columns, kpk_shape *out)
{
    return kpk_module_shape(kpk_kernel_module(kernel), kpk_kernel_index(kernel),
                            kernel->inst->device.target, n, columns, out);
}
