/* table.c - walks and searches the configuration tables of modules */
#include "internal.h"

#include <string.h>

size_t kpk_module_table_count(const kpk_module *module)
{
    return module->ntables;
}

/* The public handle is the module's table itself; its strings are found
 * through the module, so both are asked for together. */
static kpk_status check_table(const kpk_module *module, size_t table)
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
    kpk_status st = check_table(module, table);

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
    kpk_status st = check_table(module, table);

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
    kpk_status st = check_table(module, table);

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
    kpk_status st = check_table(module, table);

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

static const char *row_kernel(const kpk_module *module,
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
    out->kernel = row_kernel(module, t, row);
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
static bool for_target(const kpk_module *module, const struct kpk_row_key *key,
                       const char *target)
{
    const char *processor = kpk_i_string(module, key->target);
    const size_t n = strlen(processor);

    return n == 0 || !target ||
           (strncmp(processor, target, n) == 0 &&
            (target[n] == '\0' || target[n] == ':'));
}

/* ---- selecting ----
 *
 * Rows are taken in batches. Each condition goes over the rows of a batch that
 * are left and keeps those that meet it, without a branch on the outcome, which
 * no processor could foresee; conditions that are cheap to ask come first. */

enum { BATCH_NROWS = 512 };

struct batch {
    const kpk_module *module;
    const struct kpk_table *table;
    size_t first;                /* row number of index 0 */
    uint16_t index[BATCH_NROWS]; /* of the rows left, ascending */
    size_t n;
};

/* A column of the batch: cell `index` is column_of()[index * ncolumns]. */
static const union kpk_cell_data *column_of(const struct batch *batch,
                                            size_t column)
{
    return &batch->table->cells[batch->first * batch->table->ncolumns + column];
}

/* Equal, at least and at most are all a range of integers. */
struct range {
    const union kpk_cell_data *cells;
    uint64_t low;
    uint64_t span;
};

static struct range range_of(const struct batch *batch,
                             const kpk_condition *condition)
{
    const int64_t low = condition->op == KPK_AT_MOST ? INT64_MIN : condition->i;
    const int64_t high =
        condition->op == KPK_AT_LEAST ? INT64_MAX : condition->i;

    return (struct range){column_of(batch, condition->column), (uint64_t)low,
                          (uint64_t)high - (uint64_t)low};
}

/* Two at a time, which may be the same: a row's cells lie together. */
static void keep_ranges(struct batch *batch, const kpk_condition *first,
                        const kpk_condition *second)
{
    const struct range a = range_of(batch, first);
    const struct range b = range_of(batch, second);
    const size_t stride = batch->table->ncolumns;
    const size_t n = batch->n;
    size_t left = 0;

    for (size_t k = 0; k < n; k++) {
        const uint16_t index = batch->index[k];
        const size_t at = index * stride;

        batch->index[left] = index;
        left += ((uint64_t)a.cells[at].i - a.low <= a.span) &
                ((uint64_t)b.cells[at].i - b.low <= b.span);
    }
    batch->n = left;
}

/* Tiles have few sizes: the last answers are likely to be this one's, too, and
 * a division takes as long as the rest of a row. */
static void keep_divisors(struct batch *batch, const kpk_condition *condition)
{
    enum { NKNOWN = 16 };
    int64_t known[NKNOWN] = {0};
    bool divides[NKNOWN] = {0};
    const union kpk_cell_data *cells = column_of(batch, condition->column);
    const size_t stride = batch->table->ncolumns;
    const size_t n = batch->n;
    size_t left = 0;

    for (size_t k = 0; k < n; k++) {
        const uint16_t index = batch->index[k];
        const int64_t i = cells[index * stride].i;
        const size_t slot = ((uint64_t)i ^ (uint64_t)i >> 4) % NKNOWN;

        if (known[slot] != i) {
            known[slot] = i;
            /* of -1 the quotient may not be a number */
            divides[slot] = i == -1 || (i != 0 && condition->i % i == 0);
        }
        batch->index[left] = index;
        left += divides[slot];
    }
    batch->n = left;
}

static void keep_floats(struct batch *batch, const kpk_condition *condition)
{
    const double value = (double)condition->i;
    const union kpk_cell_data *cells = column_of(batch, condition->column);
    const size_t stride = batch->table->ncolumns;
    const size_t n = batch->n;
    size_t left = 0;

    for (size_t k = 0; k < n; k++) {
        const uint16_t index = batch->index[k];
        const double f = cells[index * stride].f;

        batch->index[left] = index;
        left += (condition->op == KPK_EQUAL && f == value) ||
                (condition->op == KPK_AT_LEAST && f >= value) ||
                (condition->op == KPK_AT_MOST && f <= value);
    }
    batch->n = left;
}

/* A memory of which texts, by offset, were found to fit. */
enum { NTEXTS = 16 };
struct texts {
    uint32_t known[NTEXTS]; /* offset + 1; 0 for none */
    bool fits[NTEXTS];
};

static void keep_texts(struct batch *batch, const kpk_condition *condition)
{
    struct texts texts = {{0}, {0}};
    const union kpk_cell_data *cells = column_of(batch, condition->column);
    const size_t stride = batch->table->ncolumns;
    const size_t n = batch->n;
    size_t left = 0;

    for (size_t k = 0; k < n; k++) {
        const uint16_t index = batch->index[k];
        const uint32_t at = cells[index * stride].s;
        const size_t slot = (at ^ at >> 4) % NTEXTS;

        if (texts.known[slot] != at + 1) {
            texts.known[slot] = at + 1;
            texts.fits[slot] =
                condition->op == KPK_EQUAL && condition->s &&
                strcmp(kpk_i_string(batch->module, at), condition->s) == 0;
        }
        batch->index[left] = index;
        left += texts.fits[slot];
    }
    batch->n = left;
}

static void keep_target(struct batch *batch, const char *target)
{
    const struct kpk_row_key *keys = batch->table->keys + batch->first;
    struct texts texts = {{0}, {0}};
    const size_t n = batch->n;
    size_t left = 0;

    for (size_t k = 0; k < n; k++) {
        const uint16_t index = batch->index[k];
        const uint32_t at = keys[index].target;
        const size_t slot = (at ^ at >> 4) % NTEXTS;

        if (texts.known[slot] != at + 1) {
            texts.known[slot] = at + 1;
            texts.fits[slot] = for_target(batch->module, &keys[index], target);
        }
        batch->index[left] = index;
        left += texts.fits[slot];
    }
    batch->n = left;
}

static kpk_status check_query(const kpk_module *module, size_t table,
                              const kpk_query *query, const size_t *out)
{
    kpk_status st = check_table(module, table);

    if (st != KPK_OK)
        return st;
    if (!query || !out || (query->nconditions && !query->conditions))
        return kpk_i_fail(KPK_ERR_ARG, "kpk_table_select: %s is NULL",
                          !query ? "query"
                          : !out ? "out"
                                 : "query->conditions");
    for (size_t i = 0; i < query->nconditions; i++) {
        if (query->conditions[i].column >= module->tables[table].ncolumns)
            return kpk_i_fail(
                KPK_ERR_ARG,
                "condition %zu names column %zu; table %s has %u columns", i,
                query->conditions[i].column,
                kpk_i_string(module, module->tables[table].name),
                (unsigned)module->tables[table].ncolumns);
    }
    return KPK_OK;
}

/* The rows of one kernel stand together, by its name: the first that is not
 * below it. */
static size_t first_row_of(const kpk_module *module, const struct kpk_table *t,
                           const char *kernel)
{
    size_t low = 0, high = t->nrows;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strcmp(row_kernel(module, t, middle), kernel) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The end of a kernel's rows, which begin with `row`. */
static size_t end_of_kernel(const kpk_module *module, const struct kpk_table *t,
                            size_t row, const char *kernel)
{
    while (row < t->nrows && strcmp(row_kernel(module, t, row), kernel) == 0)
        row++;
    return row;
}

static bool is_range(const struct kpk_table *t, const kpk_condition *condition)
{
    return t->columns[condition->column].type == KPK_CELL_INT &&
           condition->op != KPK_DIVIDES;
}

static void filter(struct batch *batch, const kpk_query *query)
{
    const struct kpk_table *t = batch->table;
    const kpk_condition *waiting = NULL;

    for (size_t i = 0; i < query->nconditions; i++) {
        const kpk_condition *c = &query->conditions[i];

        if (!is_range(t, c))
            continue;
        if (waiting)
            keep_ranges(batch, waiting, c);
        waiting = waiting ? NULL : c;
    }
    if (waiting)
        keep_ranges(batch, waiting, waiting);
    if (query->target)
        keep_target(batch, query->target);
    for (size_t i = 0; i < query->nconditions; i++) {
        const kpk_condition *c = &query->conditions[i];

        if (t->columns[c->column].type == KPK_CELL_STRING)
            keep_texts(batch, c);
        else if (t->columns[c->column].type == KPK_CELL_FLOAT)
            keep_floats(batch, c);
    }
    for (size_t i = 0; i < query->nconditions; i++) {
        const kpk_condition *c = &query->conditions[i];

        if (t->columns[c->column].type == KPK_CELL_INT && c->op == KPK_DIVIDES)
            keep_divisors(batch, c);
    }
}

static void take_all(struct batch *batch, size_t first, size_t n)
{
    enum { STEP = 16 }; /* a loop of so many is unrolled */

    batch->first = first;
    batch->n = n < BATCH_NROWS ? n : BATCH_NROWS;
    for (size_t i = 0; i < batch->n; i += STEP)
        for (size_t k = 0; k < STEP; k++)
            batch->index[i + k] = (uint16_t)(i + k);
}

static bool best_row(const kpk_module *module, const struct kpk_table *t,
                     size_t begin, size_t end, const kpk_query *query,
                     size_t *out)
{
    struct batch batch;
    const union kpk_cell_data *cells;
    const size_t stride = t->ncolumns;
    double best = 0;
    bool found = false;

    batch.module = module;
    batch.table = t;
    for (size_t first = begin; first < end; first += BATCH_NROWS) {
        take_all(&batch, first, end - first);
        filter(&batch, query);
        if (batch.n && !query->cost) {
            *out = first + batch.index[0]; /* the first will do */
            return true;
        }
        cells = column_of(&batch, 0);
        for (size_t i = 0; i < batch.n; i++) {
            const size_t row = first + batch.index[i];
            const double cost = query->cost(
                row, (const kpk_number *)&cells[batch.index[i] * stride],
                query->context);

            if (found && !(cost < best))
                continue;
            found = true;
            best = cost;
            *out = row;
        }
    }
    return found;
}

kpk_status kpk_table_select(const kpk_module *module, size_t table,
                            const kpk_query *query, size_t *out)
{
    const struct kpk_table *t;
    size_t begin = 0, end, unused, row = 0;
    kpk_status st = check_query(module, table, query, out);

    if (st != KPK_OK)
        return st;
    t = &module->tables[table];
    end = t->nrows;
    if (query->kernel) {
        if (!t->modules)
            st = kpk_module_find_kernel(module, query->kernel, &unused);
        if (st != KPK_OK)
            return st;
        begin = first_row_of(module, t, query->kernel);
        end = end_of_kernel(module, t, begin, query->kernel);
    }
    if (!best_row(module, t, begin, end, query, &row))
        return kpk_i_fail(
            KPK_ERR_NO_ROW,
            "table %s of module %s: of %zu rows%s%s none meets "
            "the %zu conditions%s%s",
            kpk_i_string(module, t->name), kpk_module_name(module), end - begin,
            query->kernel ? " for " : "", query->kernel ? query->kernel : "",
            query->nconditions, query->target ? " on " : "",
            query->target ? query->target : "");
    *out = row;
    return KPK_OK;
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
    if (!for_target(module, &module->tables[table].keys[row],
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
    for (size_t row = t ? first_row_of(module, t, name) : 0;
         t && row < t->nrows && t->keys[row].kernel == kernel; row++) {
        if (!for_target(module, &t->keys[row], target))
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
