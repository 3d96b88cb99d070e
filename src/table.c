/* table.c - walks the configuration tables of modules */
#include "table.h"
#include "error.h"
#include "instance.h"
#include "module.h"

#include <string.h>

size_t kpk_module_table_count(const kpk_module *module)
{
    return module ? module->ntables : 0;
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
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = kpk_i_check_table(module, table);
    if (st != KPK_OK)
        return st;
    t = &module->tables[table];
    out->name = kpk_i_string(module, t->name);
    out->nrows = t->nrows;
    out->ncolumns = t->ncolumns;
    return KPK_OK;
}

kpk_status kpk_module_find_table(const kpk_module *module, const char *name,
                                 size_t *out)
{
    KPK_I_NEED(module);
    KPK_I_NEED(name);
    KPK_I_NEED(out);
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
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = kpk_i_check_table(module, table);
    if (st != KPK_OK)
        return st;
    t = &module->tables[table];
    if (column >= t->ncolumns)
        return kpk_i_fail(KPK_ERR_ARG,
                          "table %s of module %s has %u columns, so none has "
                          "the number %zu",
                          kpk_i_string(module, t->name),
                          kpk_module_name(module), (unsigned)t->ncolumns,
                          column);
    out->name = kpk_i_string(module, t->columns[column].name);
    out->type = (kpk_type)t->columns[column].type;
    return KPK_OK;
}

bool kpk_i_find_column(const kpk_module *module, const struct kpk_table *t,
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
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(name);
    KPK_I_NEED(out);
    st = kpk_i_check_table(module, table);
    if (st != KPK_OK)
        return st;
    if (kpk_i_find_column(module, &module->tables[table], name, out))
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
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = check_row(module, table, row);
    if (st != KPK_OK)
        return st;
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
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = check_row(module, table, row);
    if (st == KPK_OK)
        st = kpk_table_column(module, table, column, &decl);
    if (st != KPK_OK)
        return st;
    t = &module->tables[table];
    cell = &t->cells[row * t->ncolumns + column];
    out->type = decl.type;
    out->i = decl.type == KPK_TYPE_INT ? cell->i : 0;
    out->f = decl.type == KPK_TYPE_FLOAT ? cell->f : (double)out->i;
    out->s = decl.type == KPK_TYPE_STRING ? kpk_i_string(module, cell->s) : "";
    return KPK_OK;
}

_Static_assert((int)KPK_TYPE_INT == (int)KPK_CELL_INT &&
                   (int)KPK_TYPE_FLOAT == (int)KPK_CELL_FLOAT &&
                   (int)KPK_TYPE_STRING == (int)KPK_CELL_STRING,
               "kpack.h and format.h number types of cells alike");
_Static_assert(sizeof(kpk_number) == sizeof(union kpk_cell_data),
               "kpack.h and format.h have cells of one size");

kpk_status kpk_table_numbers(const kpk_module *module, size_t table, size_t row,
                             const kpk_number **out)
{
    const struct kpk_table *t;
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = check_row(module, table, row);
    if (st != KPK_OK)
        return st;
    t = &module->tables[table];
    *out = (const kpk_number *)&t->cells[row * t->ncolumns];
    return KPK_OK;
}

/* Is the row for this processor, or for all that begin so, "gfx1*"? A target
 * ID's settings do not matter. */
bool kpk_i_for_target(const kpk_module *module, const struct kpk_row_key *key,
                      const char *target)
{
    const char *processor = kpk_i_string(module, key->target);
    const size_t n = strlen(processor);

    if (n == 0 || !target)
        return true;
    if (processor[n - 1] == '*')
        return strncmp(processor, target, n - 1) == 0;
    return strncmp(processor, target, n) == 0 &&
           (target[n] == '\0' || target[n] == ':');
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

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(out);
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
