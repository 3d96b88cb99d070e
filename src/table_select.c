/* table_select.c - searches the configuration tables of modules
 *
 * A table comes with an index: for each cell the number of its value among
 * those of its column, in their order. So a condition is asked once of each
 * value, of which columns have few, and becomes spans of numbers; rows are then
 * held against the spans 64 at a time, in a loop without branches that a
 * compiler turns into vector code. Nothing is allocated.
 */
#include "error.h"
#include "module.h"
#include "table.h"

#include <math.h>
#include <string.h>

enum {
    GROUP = KPK_GROUP_NROWS,
    CHUNK_NROWS = 16 * GROUP, /* rows whose marks lie on the stack at once */
    FEW_NROWS = 8,            /* not worth to ask of every value first */
    MAX_SPANS = 12
};

static bool number_holds(kpk_op op, double cell, double value)
{
    return (op == KPK_EQUAL && cell == value) ||
           (op == KPK_AT_LEAST && cell >= value) ||
           (op == KPK_AT_MOST && cell <= value);
}

static bool holds(const kpk_module *module, const struct kpk_table *t,
                  size_t row, const kpk_condition *condition)
{
    const union kpk_cell_data *cell =
        &t->cells[row * t->ncolumns + condition->column];
    const int64_t i = condition->i;

    switch (t->columns[condition->column].type) {
    case KPK_CELL_STRING:
        return condition->op == KPK_EQUAL && condition->s &&
               strcmp(kpk_i_string(module, cell->s), condition->s) == 0;
    case KPK_CELL_FLOAT:
        return number_holds(condition->op, cell->f, (double)i);
    default:
        break;
    }
    switch (condition->op) {
    case KPK_EQUAL:
        return cell->i == i;
    case KPK_AT_LEAST:
        return cell->i >= i;
    case KPK_AT_MOST:
        return cell->i <= i;
    case KPK_DIVIDES: /* INT64_MIN / -1 overflows */
        return cell->i == -1 || (cell->i != 0 && i % cell->i == 0);
    }
    return false;
}

/* ---- a question, asked of each value of a column ---- */

struct span { /* codes low to low + width */
    uint16_t low;
    uint16_t width;
};

struct spans {
    size_t n;
    bool too_many; /* more than MAX_SPANS: ask row by row */
    struct span list[MAX_SPANS];
};

/* A condition, or, without one, the query's target. */
struct question {
    const kpk_module *module;
    const struct kpk_table *table;
    const kpk_condition *condition;
    const char *target;
    size_t column;
};

static bool row_fits(const struct question *q, size_t row)
{
    if (q->condition)
        return holds(q->module, q->table, row, q->condition);
    return kpk_i_for_target(q->module, &q->table->keys[row], q->target);
}

static size_t nvalues(const struct question *q)
{
    const uint32_t *first = q->table->index->first;

    return first[q->column + 1] - first[q->column];
}

/* A row that has value number `code` of the column. */
static size_t row_of_value(const struct question *q, size_t code)
{
    const struct kpk_table_index *index = q->table->index;

    return index->rows[index->first[q->column] + code];
}

static void add_span(struct spans *spans, size_t begin, size_t end)
{
    if (begin == end)
        return;
    if (spans->n == MAX_SPANS) {
        spans->too_many = true;
        return;
    }
    spans->list[spans->n].low = (uint16_t)begin;
    spans->list[spans->n].width = (uint16_t)(end - begin - 1);
    spans->n++;
}

/* Less than, equal to or greater than what the condition names. */
static int order_of(const struct question *q, size_t code)
{
    const kpk_condition *c = q->condition;
    const union kpk_cell_data *cell =
        &q->table
             ->cells[row_of_value(q, code) * q->table->ncolumns + q->column];
    const double value = (double)c->i;

    switch (q->table->columns[q->column].type) {
    case KPK_CELL_STRING:
        return strcmp(kpk_i_string(q->module, cell->s), c->s);
    case KPK_CELL_FLOAT:
        return (cell->f > value) - (cell->f < value);
    default:
        return (cell->i > c->i) - (cell->i < c->i);
    }
}

/* How many values are less than the condition's value or, with `equal_too`,
 * less or equal. */
static size_t values_below(const struct question *q, bool equal_too)
{
    size_t low = 0, high = nvalues(q);

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = order_of(q, middle);

        if (order < 0 || (equal_too && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds the values in the condition's range by bisection; values are sorted. */
static bool find_range(const struct question *q, struct spans *out)
{
    const kpk_condition *c = q->condition;
    size_t begin = 0, end;

    if (!c ||
        (c->op != KPK_EQUAL && c->op != KPK_AT_LEAST && c->op != KPK_AT_MOST))
        return false;
    if (q->table->columns[q->column].type == KPK_CELL_STRING &&
        (c->op != KPK_EQUAL || !c->s))
        return false;
    end = nvalues(q);
    if (c->op != KPK_AT_MOST)
        begin = values_below(q, false);
    if (c->op != KPK_AT_LEAST)
        end = values_below(q, true);
    add_span(out, begin, end);
    return true;
}

static void find_spans(const struct question *q, struct spans *out)
{
    size_t begin = 0;
    size_t n;

    out->n = 0;
    out->too_many = false;
    if (find_range(q, out))
        return;
    n = nvalues(q);
    for (size_t code = 0; code < n; code++) {
        if (row_fits(q, row_of_value(q, code)))
            continue;
        add_span(out, begin, code);
        begin = code + 1;
    }
    add_span(out, begin, n);
}

/* ---- rows, held against spans ---- */

/* All ones if the code is in the span, else 0. */
static uint16_t in_span(uint16_t code, struct span span)
{
    const uint16_t from_low = (uint16_t)(code - span.low);

    return (uint16_t) - (from_low <= span.width);
}

/* Clears the marks of the rows whose codes are in none of the spans. */
static void keep_group(uint16_t *restrict marks, const uint16_t *restrict codes,
                       const struct spans *spans)
{
    const struct span first = spans->list[0];
    uint16_t in[GROUP];

    if (spans->n < 2) { /* the usual case, if not none */
        for (int i = 0; i < GROUP; i++)
            marks[i] &= in_span(codes[i], first);
        return;
    }
    for (int i = 0; i < GROUP; i++)
        in[i] = in_span(codes[i], first);
    for (size_t s = 1; s < spans->n; s++) {
        const struct span span = spans->list[s];

        for (int i = 0; i < GROUP; i++)
            in[i] |= in_span(codes[i], span);
    }
    for (int i = 0; i < GROUP; i++)
        marks[i] &= in[i];
}

struct chunk {
    size_t first; /* row of marks[0], a multiple of GROUP */
    size_t ngroups;
    uint16_t marks[CHUNK_NROWS]; /* 0: the row is out */
};

static void keep(struct chunk *chunk, const struct question *q)
{
    const struct kpk_table *t = q->table;
    const size_t stride = ((size_t)t->ncolumns + 1) * GROUP;
    const uint16_t *codes =
        t->index->codes + chunk->first / GROUP * stride + q->column * GROUP;
    struct spans spans;

    find_spans(q, &spans);
    if (spans.n == 0) {
        memset(chunk->marks, 0, sizeof(chunk->marks));
        return;
    }
    for (size_t g = 0; g < chunk->ngroups; g++) {
        uint16_t *marks = chunk->marks + g * GROUP;

        if (!spans.too_many) {
            keep_group(marks, codes + g * stride, &spans);
            continue;
        }
        for (size_t i = 0; i < GROUP; i++)
            if (marks[i] && !row_fits(q, chunk->first + g * GROUP + i))
                marks[i] = 0;
    }
}

static void mark_rows(struct chunk *chunk, size_t begin, size_t end)
{
    const size_t nrows = chunk->ngroups * GROUP;
    const size_t from = begin > chunk->first ? begin - chunk->first : 0;
    const size_t to = end - chunk->first < nrows ? end - chunk->first : nrows;

    memset(chunk->marks, 0, nrows * sizeof(chunk->marks[0]));
    memset(chunk->marks + from, 0xff, (to - from) * sizeof(chunk->marks[0]));
}

/* ---- the best row ---- */

struct best {
    const struct kpk_table *table;
    const kpk_query *query;
    bool found;
    double cost;
    size_t row;
};

/* True if no other row need be looked at. */
static bool consider(struct best *best, size_t row)
{
    const kpk_query *query = best->query;
    double cost;

    if (query->cost) {
        cost = query->cost(row,
                           (const kpk_number *)&best->table
                               ->cells[row * best->table->ncolumns],
                           query->context);
        if (!(cost <= HUGE_VAL)) /* not a number */
            cost = HUGE_VAL;     /* never less than another row's */
        if (best->found && !(cost < best->cost))
            return false;
        best->cost = cost;
    }
    best->found = true;
    best->row = row;
    return !query->cost;
}

static void search_plainly(const kpk_module *module, size_t begin, size_t end,
                           struct best *best)
{
    const struct kpk_table *t = best->table;
    const kpk_query *query = best->query;

    for (size_t row = begin; row < end; row++) {
        bool all = kpk_i_for_target(module, &t->keys[row], query->target);

        for (size_t i = 0; i < query->nconditions && all; i++)
            all = holds(module, t, row, &query->conditions[i]);
        if (all && consider(best, row))
            return;
    }
}

static bool consider_chunk(const struct chunk *chunk, struct best *best)
{
    enum { STEP = 4 };

    for (size_t i = 0; i < chunk->ngroups * GROUP; i += STEP) {
        uint64_t four;

        memcpy(&four, chunk->marks + i, sizeof(four));
        for (size_t k = 0; four && k < STEP; k++)
            if (chunk->marks[i + k] && consider(best, chunk->first + i + k))
                return true;
    }
    return false;
}

static void search_index(const kpk_module *module, size_t begin, size_t end,
                         struct best *best)
{
    const struct kpk_table *t = best->table;
    const kpk_query *query = best->query;
    struct question q = {.module = module, .table = t};
    struct chunk chunk;

    for (chunk.first = begin / GROUP * GROUP; chunk.first < end;
         chunk.first += CHUNK_NROWS) {
        const size_t left = (end - chunk.first + GROUP - 1) / GROUP;

        chunk.ngroups = left < CHUNK_NROWS / GROUP ? left : CHUNK_NROWS / GROUP;
        mark_rows(&chunk, begin, end);
        if (query->target) {
            q.condition = NULL;
            q.target = query->target;
            q.column = t->ncolumns;
            keep(&chunk, &q);
        }
        for (size_t i = 0; i < query->nconditions; i++) {
            q.condition = &query->conditions[i];
            q.column = q.condition->column;
            keep(&chunk, &q);
        }
        if (consider_chunk(&chunk, best))
            return;
    }
}

static kpk_status check_query(const kpk_module *module, size_t table,
                              const kpk_query *query)
{
    kpk_status st = kpk_i_check_table(module, table);

    if (st != KPK_OK)
        return st;
    if (query->nconditions && !query->conditions)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_table_select: query->conditions is NULL");
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

/* The end of a kernel's rows, which begin with `row`. */
static size_t end_of_kernel(const kpk_module *module, const struct kpk_table *t,
                            size_t row, const char *kernel)
{
    while (row < t->nrows &&
           strcmp(kpk_i_row_kernel(module, t, row), kernel) == 0)
        row++;
    return row;
}

kpk_status kpk_table_select(const kpk_module *module, size_t table,
                            const kpk_query *query, size_t *out)
{
    const struct kpk_table *t;
    struct best best = {.found = false};
    size_t begin = 0, end, unused;
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(query);
    KPK_I_NEED(out);
    st = check_query(module, table, query);
    if (st != KPK_OK)
        return st;
    t = &module->tables[table];
    end = t->nrows;
    if (query->kernel) {
        if (!t->modules)
            st = kpk_module_find_kernel(module, query->kernel, &unused);
        if (st != KPK_OK)
            return st;
        begin = kpk_i_first_row_of(module, t, query->kernel);
        end = end_of_kernel(module, t, begin, query->kernel);
    }
    best.table = t;
    best.query = query;
    if (t->index && end - begin > FEW_NROWS)
        search_index(module, begin, end, &best);
    else
        search_plainly(module, begin, end, &best);
    if (!best.found)
        return kpk_i_fail(
            KPK_ERR_NO_ROW,
            "table %s of module %s: of %zu rows%s%s none meets "
            "the %zu conditions%s%s",
            kpk_i_string(module, t->name), kpk_module_name(module), end - begin,
            query->kernel ? " for " : "", query->kernel ? query->kernel : "",
            query->nconditions, query->target ? " on " : "",
            query->target ? query->target : "");
    *out = best.row;
    return KPK_OK;
}
