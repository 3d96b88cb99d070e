/* shape.c - launch shapes: what a table beside a module recommends */
#include "error.h"
#include "instance.h"
#include "module.h"
#include "select_sm.h"
#include "table.h"

#include <stdio.h>

/* The named columns of a shape table, with what a missing one stands for. */
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
    [N_MULTIPLE] = {"n_multiple", 1}, /* for n that it divides alone */
    [MIN_COLUMNS] = {"min_columns", 0},
    [MAX_COLUMNS] = {"max_columns", INT64_MAX},
    [GRID_X_LOOPS] = {"grid_x_loops", 0}, /* 1: a smaller grid will do */
    [GRID_Y_LOOPS] = {"grid_y_loops", 0},
    [GRID_X_MOST] = {"grid_x_most", 0}, /* 0: no limit */
};

/* Finds the shape's columns in a table; a missing one gets number ncolumns. */
static void find_shape_columns(const kpk_module *module,
                               const struct kpk_table *t,
                               size_t columns[NUM_SHAPE_COLUMNS])
{
    for (int k = 0; k < NUM_SHAPE_COLUMNS; k++)
        columns[k] = t->ncolumns;
    for (size_t c = 0; c < t->ncolumns; c++) {
        const char *name = kpk_i_string(module, t->columns[c].name);

        if (t->columns[c].type != KPK_CELL_INT)
            continue;
        for (int k = 0; k < NUM_SHAPE_COLUMNS; k++) {
            const char *wanted = shape_columns[k].name;

            /* most differ in the first letter, which takes no call to see */
            if (name[0] == wanted[0] && strcmp(name, wanted) == 0)
                columns[k] = c;
        }
    }
}

static void read_shape_row(const struct kpk_table *t, size_t row,
                           const size_t columns[NUM_SHAPE_COLUMNS],
                           int64_t values[NUM_SHAPE_COLUMNS])
{
    for (int k = 0; k < NUM_SHAPE_COLUMNS; k++)
        values[k] = columns[k] < t->ncolumns
                        ? t->cells[row * t->ncolumns + columns[k]].i
                        : shape_columns[k].missing;
}

/* A grid's dimension. */
struct extent {
    char axis;
    uint64_t n;    /* to be covered */
    int64_t each;  /* part of n per block; 0: all of n */
    uint32_t most; /* blocks that every release of HIP launches */
    bool loops;    /* the kernel goes on where the grid ends */
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
static kpk_status check_row(const char *kernel,
                            const int64_t v[NUM_SHAPE_COLUMNS])
{
    static const int narrow[] = {BLOCK_X, BLOCK_Y, SHARED_NBYTES};

    for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
        const int64_t value = v[narrow[i]];

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

static bool row_fits(const int64_t v[NUM_SHAPE_COLUMNS], uint64_t n,
                     uint64_t columns)
{
    return !is_below(n, v[MIN_N]) && !is_below(columns, v[MIN_COLUMNS]) &&
           (v[N_MULTIPLE] <= 1 || n % (uint64_t)v[N_MULTIPLE] == 0) &&
           v[MAX_COLUMNS] >= 0 && columns <= (uint64_t)v[MAX_COLUMNS];
}

static kpk_status make_shape(const char *kernel,
                             const int64_t v[NUM_SHAPE_COLUMNS], uint64_t n,
                             uint64_t columns, kpk_shape *out)
{
    const bool limited = v[GRID_X_MOST] > 0 && v[GRID_X_MOST] < INT32_MAX;
    const struct extent x = {'x', n, v[GRID_X_EACH],
                             limited ? (uint32_t)v[GRID_X_MOST] : INT32_MAX,
                             v[GRID_X_LOOPS] != 0 || limited};
    const struct extent y = {'y', columns, v[GRID_Y_EACH], UINT16_MAX,
                             v[GRID_Y_LOOPS] != 0};
    kpk_shape shape = {{1, 1, 1},
                       {(uint32_t)v[BLOCK_X], (uint32_t)v[BLOCK_Y], 1},
                       (uint32_t)v[SHARED_NBYTES]};
    kpk_status st = check_row(kernel, v);

    if (st == KPK_OK)
        st = find_blocks(&x, shape.block[0], kernel, &shape.grid[0]);
    if (st == KPK_OK)
        st = find_blocks(&y, shape.block[1], kernel, &shape.grid[1]);
    if (st == KPK_OK)
        *out = shape;
    return st;
}

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

kpk_status kpk_module_shape(const kpk_module *module, size_t kernel,
                            const char *target, uint64_t n, uint64_t columns,
                            kpk_shape *out)
{
    const struct kpk_table *t;
    const char *name;
    size_t at[NUM_SHAPE_COLUMNS];
    int64_t v[NUM_SHAPE_COLUMNS];

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    if (kernel >= module->nkernels)
        return kpk_i_fail(KPK_ERR_ARG,
                          "module %s has %u kernels, so none has the number "
                          "%zu",
                          kpk_module_name(module), (unsigned)module->nkernels,
                          kernel);
    t = shape_table(module);
    name = kpk_i_string(module, module->kernels[kernel].name);
    if (t)
        find_shape_columns(module, t, at);
    for (size_t row = t ? kpk_i_first_row_of(module, t, name) : 0;
         t && row < t->nrows && t->keys[row].kernel == kernel; row++) {
        if (!kpk_i_for_target(module, &t->keys[row], target))
            continue;
        read_shape_row(t, row, at, v);
        if (row_fits(v, n, columns))
            return make_shape(name, v, n, columns, out);
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
static int64_t most_shared(const kpk_module *module, const struct kpk_table *t,
                           const char *target)
{
    size_t at[NUM_SHAPE_COLUMNS];
    int64_t v[NUM_SHAPE_COLUMNS];
    int64_t shared = -1;

    find_shape_columns(module, t, at);
    for (size_t row = 0; row < t->nrows; row++) {
        if (!is_row_of(module, t, row, target))
            continue;
        read_shape_row(t, row, at, v);
        if (v[SHARED_NBYTES] > shared)
            shared = v[SHARED_NBYTES];
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
    const struct kpk_table *t = shape_table(module);
    struct kpk_i_sm sm;
    int64_t own, shared;

    if (!t || !kpk_i_sm_parse(device, &sm))
        return code;
    if (strcmp(code, device) == 0 && has_rows(module, t, code))
        return code; /* the usual, quick way */
    shared = most_shared(module, t, code);
    if (shared < 0) {
        (void)kpk_i_sm_parse(code, &sm); /* code is NVIDIA's, too */
        (void)snprintf(name, KPK_I_SM_NBYTES, "sm_%u", sm.number);
        shared = most_shared(module, t, name);
        if (shared >= 0)
            code = name;
    }
    own = most_shared(module, t, device);
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

kpk_status kpk_kernel_shape(const kpk_kernel *kernel, uint64_t n,
                            uint64_t columns, kpk_shape *out)
{
    const kpk_module *module;
    const char *device, *target;
    char name[KPK_I_SM_NBYTES];

    KPK_I_NEED(kernel);
    KPK_I_NEED(out);
    module = kernel->slot->module;
    device = kernel->inst->device.target;
    target = kpk_i_string(module, module->objects[kernel->slot->object].target);
    if (strcmp(target, device) != 0) /* skip the search for the same target */
        target = rows_of_code(module, device, target, name);
    return kpk_module_shape(module, kpk_kernel_index(kernel), target, n,
                            columns, out);
}
