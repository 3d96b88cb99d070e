/* shape.c - launch shapes, recommended by a table beside a module */
#include "shape.h"
#include "error.h"
#include "instance.h"
#include "module.h"
#include "select_sm.h"
#include "table.h"

#include <stdio.h>

/* The columns of a shape table, and the values if one is missing. */
enum {
    BLOCK_X,
    BLOCK_Y,
    GRID_X_EACH,
    GRID_Y_EACH,
    SHARED_NBYTES,
    MIN_N,
    N_MULTIPLE,
    MIN_COLUMNS,
    MAX_COLUMNS,
    GRID_X_LOOPS,
    GRID_Y_LOOPS,
    GRID_X_MOST,
    NUM_SHAPE_COLUMNS
};
_Static_assert((int)NUM_SHAPE_COLUMNS == (int)KPK_I_SHAPE_COLUMNS,
               "struct kpk_i_shapes has them all");
static const struct {
    const char *name;
    int64_t missing;
} shape_columns[NUM_SHAPE_COLUMNS] = {
    [BLOCK_X] = {"block_x", 0},
    [BLOCK_Y] = {"block_y", 1},
    [GRID_X_EACH] = {"grid_x_each", 1},
    [GRID_Y_EACH] = {"grid_y_each", 0}, /* 0: the grid has one row */
    [SHARED_NBYTES] = {"shared_nbytes", 0},
    [MIN_N] = {"min_n", 0},
    [N_MULTIPLE] = {"n_multiple", 1}, /* row is only for its multiples */
    [MIN_COLUMNS] = {"min_columns", 0},
    [MAX_COLUMNS] = {"max_columns", INT64_MAX},
    [GRID_X_LOOPS] = {"grid_x_loops", 0}, /* 1: a smaller grid will do */
    [GRID_Y_LOOPS] = {"grid_y_loops", 0},
    [GRID_X_MOST] = {"grid_x_most", 0}, /* 0: no limit */
};

/* The first table of the module that has launch shapes. */
static const struct kpk_table *shape_table(const kpk_module *module)
{
    size_t c;

    for (uint32_t i = 0; i < module->ntables; i++)
        if (!module->tables[i].modules &&
            kpk_i_find_column(module, &module->tables[i],
                              shape_columns[BLOCK_X].name, &c))
            return &module->tables[i];
    return NULL;
}

/* Finds the columns of a module's first table of shapes, if it has one; a
 * missing column gets number ncolumns. */
static struct kpk_i_shapes shapes_of(const kpk_module *module)
{
    const struct kpk_table *t = shape_table(module);
    struct kpk_i_shapes shapes = {.table = t};

    for (int k = 0; t && k < NUM_SHAPE_COLUMNS; k++)
        shapes.columns[k] = t->ncolumns;
    for (uint32_t c = 0; t && c < t->ncolumns; c++) {
        const char *name = kpk_i_string(module, t->columns[c].name);

        if (t->columns[c].type != KPK_CELL_INT)
            continue;
        for (int k = 0; k < NUM_SHAPE_COLUMNS; k++) {
            const char *wanted = shape_columns[k].name;

            /* most differ in the first letter, which takes no call to see */
            if (name[0] == wanted[0] && strcmp(name, wanted) == 0)
                shapes.columns[k] = c;
        }
    }
    return shapes;
}

static int64_t cell_of(const struct kpk_i_shapes *s, size_t row, int column)
{
    const uint32_t at = s->columns[column];

    return at < s->table->ncolumns
               ? s->table->cells[row * s->table->ncolumns + at].i
               : shape_columns[column].missing;
}

/* A grid's dimension. */
struct extent {
    char axis;
    uint64_t n;    /* to be covered */
    int64_t each;  /* part of n per block; 0: all of n */
    uint32_t most; /* blocks that every release of HIP launches */
    bool loops;    /* the kernel loops if the grid is smaller */
};

/* Enough blocks to cover n, at least one; HIP launches fewer than 2^32 threads
 * in a dimension. */
static kpk_status find_blocks(const struct extent *e, uint32_t block,
                              const char *kernel, uint32_t *out)
{
    const uint64_t each = e->each > 0 ? (uint64_t)e->each : 0;
    uint64_t most = block ? UINT32_MAX / block : 1;
    uint64_t blocks = 1;

    if (most > e->most)
        most = e->most;
    if (each && e->n)
        blocks = e->n / each + (e->n % each != 0);
    if (blocks > most && !e->loops)
        return kpk_i_fail(KPK_ERR_SHAPE,
                          "%s: %llu in %c take %llu blocks of %u threads, and "
                          "HIP launches %llu at most. Launch it several times, "
                          "each time for a part",
                          kernel, (unsigned long long)e->n, e->axis,
                          (unsigned long long)blocks, block,
                          (unsigned long long)most);
    *out = (uint32_t)(blocks < most ? blocks : most);
    return KPK_OK;
}

/* A launch has these values as 32 bits; a table may hold larger ones. */
static kpk_status check_row(const char *kernel, const struct kpk_i_shapes *s,
                            size_t row)
{
    static const int narrow[] = {BLOCK_X, BLOCK_Y, SHARED_NBYTES};

    for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
        const int64_t value = cell_of(s, row, narrow[i]);

        if (value < 0 || value > UINT32_MAX)
            return kpk_i_fail(
                KPK_ERR_SHAPE,
                "%s: %s is %lld in its row of the table of launch "
                "shapes, which no launch can have",
                kernel, shape_columns[narrow[i]].name, (long long)value);
    }
    return KPK_OK;
}

/* A cell below 0 is less than every number. */
static bool is_below(uint64_t n, int64_t cell)
{
    return cell > 0 && n < (uint64_t)cell;
}

static bool row_fits(const struct kpk_i_shapes *s, size_t row, uint64_t n,
                     uint64_t columns)
{
    const int64_t most = cell_of(s, row, MAX_COLUMNS);
    const int64_t multiple = cell_of(s, row, N_MULTIPLE);

    return !is_below(n, cell_of(s, row, MIN_N)) &&
           !is_below(columns, cell_of(s, row, MIN_COLUMNS)) && most >= 0 &&
           columns <= (uint64_t)most &&
           (multiple <= 1 || n % (uint64_t)multiple == 0);
}

static kpk_status make_shape(const char *kernel, const struct kpk_i_shapes *s,
                             size_t row, uint64_t n, uint64_t columns,
                             kpk_shape *out)
{
    const int64_t most = cell_of(s, row, GRID_X_MOST);
    const bool limited = most > 0 && most < INT32_MAX;
    const struct extent x = {'x', n, cell_of(s, row, GRID_X_EACH),
                             limited ? (uint32_t)most : INT32_MAX,
                             cell_of(s, row, GRID_X_LOOPS) != 0 || limited};
    const struct extent y = {'y', columns, cell_of(s, row, GRID_Y_EACH),
                             UINT16_MAX, cell_of(s, row, GRID_Y_LOOPS) != 0};
    kpk_shape shape = {{1, 1, 1},
                       {(uint32_t)cell_of(s, row, BLOCK_X),
                        (uint32_t)cell_of(s, row, BLOCK_Y), 1},
                       (uint32_t)cell_of(s, row, SHARED_NBYTES)};
    kpk_status st = check_row(kernel, s, row);

    if (st == KPK_OK)
        st = find_blocks(&x, shape.block[0], kernel, &shape.grid[0]);
    if (st == KPK_OK)
        st = find_blocks(&y, shape.block[1], kernel, &shape.grid[1]);
    if (st == KPK_OK)
        *out = shape;
    return st;
}

kpk_status kpk_module_shape(const kpk_module *module, size_t kernel,
                            const char *target, uint64_t n, uint64_t columns,
                            kpk_shape *out)
{
    struct kpk_i_shapes shapes;
    const struct kpk_table *t;
    const char *name;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    if (kernel >= module->nkernels)
        return kpk_i_fail(KPK_ERR_ARG,
                          "module %s has %u kernels, so none has the number "
                          "%zu",
                          kpk_module_name(module), (unsigned)module->nkernels,
                          kernel);
    shapes = shapes_of(module);
    t = shapes.table;
    name = kpk_i_string(module, module->kernels[kernel].name);
    for (size_t row = t ? kpk_i_first_row_of(module, t, name) : 0;
         t && row < t->nrows && t->keys[row].kernel == kernel; row++) {
        if (kpk_i_for_target(module, &t->keys[row], target) &&
            row_fits(&shapes, row, n, columns))
            return make_shape(name, &shapes, row, n, columns, out);
    }
    return kpk_i_fail(KPK_ERR_NO_ROW,
                      "module %s recommends no launch shape for %s with %llu "
                      "columns",
                      kpk_module_name(module), name,
                      (unsigned long long)columns);
}

/* ---- whose rows count ---- */

/* Whether a row is for a processor by name. */
static bool is_row_of(const kpk_module *module, const struct kpk_table *t,
                      size_t row, const char *target)
{
    return t->keys[row].target != 0 &&
           kpk_i_for_target(module, &t->keys[row], target);
}

static bool has_rows(const kpk_module *module, const struct kpk_table *t,
                     const char *target)
{
    size_t row = 0;

    while (row < t->nrows && !is_row_of(module, t, row, target))
        row++;
    return row < t->nrows;
}

/* The most shared memory that a processor's rows give; -1: it has no rows. */
static int64_t most_shared(const kpk_module *module,
                           const struct kpk_i_shapes *s, const char *target)
{
    int64_t shared = -1;

    for (size_t row = 0; row < s->table->nrows; row++) {
        const int64_t own = cell_of(s, row, SHARED_NBYTES);

        if (is_row_of(module, s->table, row, target) && own > shared)
            shared = own;
    }
    return shared;
}

/*
 * On NVIDIA's the code that runs may be PTX or a cubin of an older processor,
 * with other tiles than the device's own cubin has. Its rows may be under its
 * own name, compute_90. Else they are those of the cubin, sm_90: a suffix, 'a'
 * or 'f', says that the code has what one processor's cubin has, and most PTX
 * has the tiles of the cubin. Where these ask for more shared memory than the
 * device's rows give, they could not be launched.
 */
static const char *rows_of_code(const kpk_module *module, const char *device,
                                const char *code, char name[KPK_I_SM_NBYTES])
{
    const struct kpk_i_shapes s = shapes_of(module);
    const struct kpk_table *t = s.table;
    struct kpk_i_sm sm;
    int64_t own, shared;

    if (!t || !kpk_i_sm_parse(device, &sm))
        return code;
    if (strcmp(code, device) == 0 && has_rows(module, t, code))
        return code; /* the usual, quick way */
    shared = most_shared(module, &s, code);
    if (shared < 0) {
        (void)kpk_i_sm_parse(code, &sm); /* code is NVIDIA's, too */
        (void)snprintf(name, KPK_I_SM_NBYTES, "sm_%u", sm.number);
        shared = most_shared(module, &s, name);
        if (shared >= 0)
            code = name;
    }
    own = most_shared(module, &s, device);
    return own >= 0 && own < shared ? device : code;
}

const char *kpk_i_target_of_rows(const kpk_module *module, const char *device,
                                 char name[KPK_I_SM_NBYTES])
{
    struct kpk_i_failure before;
    kpk_selection selection;
    struct kpk_i_sm sm;

    if (!device || !kpk_i_sm_parse(device, &sm))
        return device;
    kpk_i_keep_failure(&before);
    if (kpk_select(module, device, &selection) != KPK_OK) {
        kpk_i_put_back_failure(&before);
        selection.target = device;
    }
    return rows_of_code(module, device, selection.target, name);
}

/* ---- a kernel of an instance ---- */

/* The processor whose rows count for the code object that was selected. */
static const char *target_of_slot(const struct kpk_i_slot *slot,
                                  const char *device,
                                  char name[KPK_I_SM_NBYTES])
{
    const kpk_module *module = slot->module;
    const char *code =
        kpk_i_string(module, module->objects[slot->object].target);

    /* skip the search for the same target */
    return strcmp(code, device) == 0 ? code
                                     : rows_of_code(module, device, code, name);
}

void kpk_i_find_shapes(struct kpk_i_slot *slot, const char *device)
{
    const kpk_module *module = slot->module;
    char name[KPK_I_SM_NBYTES];
    const char *target;

    slot->shapes = shapes_of(module);
    if (!slot->shapes.table)
        return;
    target = target_of_slot(slot, device, name);
    for (size_t row = slot->shapes.table->nrows; row-- > 0;) {
        const struct kpk_row_key *key = &slot->shapes.table->keys[row];
        kpk_kernel *kernel = &slot->kernels[key->kernel];

        /* a kernel's rows stand together; the last step is to its first */
        kernel->first_row = row;
        kernel->rows =
            kernel->rows << 1 | kpk_i_for_target(module, key, target);
    }
}

kpk_status kpk_kernel_shape(const kpk_kernel *kernel, uint64_t n,
                            uint64_t columns, kpk_shape *out)
{
    const struct kpk_i_slot *slot;
    const char *target;
    char name[KPK_I_SM_NBYTES];
    size_t row;

    KPK_I_NEED(kernel);
    KPK_I_NEED(out);
    slot = kernel->slot;
    row = kernel->first_row;
    for (uint64_t rows = kernel->rows; rows; rows >>= 1, row++)
        if (rows & 1 && row_fits(&slot->shapes, row, n, columns))
            return make_shape(kpk_kernel_name(kernel), &slot->shapes, row, n,
                              columns, out);
    /* none fits, or a kernel has more rows than bits */
    target = target_of_slot(slot, kernel->inst->device.target, name);
    return kpk_module_shape(slot->module, kpk_kernel_index(kernel), target, n,
                            columns, out);
}
