/* info.c - kpack info: one module or one kernel in full */
#include "cmd.h"
#include "exit_status.h"
#include "file_pack.h"
#include "hex.h"
#include "json.h"
#include "list_file.h"
#include "own_pack.h"
#include "text_columns.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    [KPK_KIND_VALUE] = "value",
    [KPK_KIND_BUFFER] = "buffer",
    [KPK_KIND_DYNAMIC_SHARED] = "shared pointer",
    [KPK_KIND_OTHER] = "other",
    [KPK_KIND_UNKNOWN] = "parameter", /* a cubin does not tell */
};

/* The numbers of an object's row: title and how to read it. */
/* clang-format off */
#define ATTR_TABLE(X)                       \
    X("VGPRS",   "vgprs",          vgprs)          \
    X("AGPRS",   "agprs",          agprs)          \
    X("SGPRS",   "sgprs",          sgprs)          \
    X("SPILLS",  "vgpr_spills",    vgpr_spills)    \
    X("LDS",     "lds_nbytes",     lds_nbytes)     \
    X("SCRATCH", "scratch_nbytes", scratch_nbytes) \
    X("KERNARG", "kernarg_nbytes", kernarg_nbytes) \
    X("BLOCK",   "max_block",      max_block)      \
    X("WAVE",    "wave_size",      wave_size)      \
    X("WAITS",   "waits",          waits)
/* clang-format on */

static void kernel_attrs_table(const kpk_module *module, size_t k)
{
    struct table *table = table_new("TARGET"
#define X(title, key, field) " >" title
                                    ATTR_TABLE(X)
#undef X
    );
    kpk_object object;
    kpk_attrs attrs;

    for (size_t i = 0; i < kpk_module_object_count(module); i++) {
        cmd_need(kpk_module_object_info(module, i, &object));
        cmd_need(kpk_module_attrs(module, k, i, &attrs));
        table_cell(table, "%s", object.target);
#define X(title, key, field) table_cell(table, "%u", (unsigned)attrs.field);
        ATTR_TABLE(X)
#undef X
    }
    table_print(table);
}

static void kernel_args_table(const kpk_module *module, size_t k, size_t nargs)
{
    struct table *table = table_new(">ARG >OFFSET >BYTES KIND NAME");
    kpk_arg_decl arg;

    for (size_t i = 0; i < nargs; i++) {
        cmd_need(kpk_module_arg(module, k, i, &arg));
        table_cell(table, "%zu", i);
        table_cell(table, "%zu", arg.offset);
        table_cell(table, "%zu", arg.nbytes);
        table_cell(table, "%s",
                   arg.is_padding ? "padding" : kind_names[arg.kind]);
        table_cell(table, "%s", *arg.name ? arg.name : "-");
    }
    table_print(table);
}

static void text_kernel(const kpk_module *module, size_t k)
{
    kpk_kernel_decl kernel;

    cmd_need(kpk_module_kernel(module, k, &kernel));
    printf("kernel %s of module %s: %zu argument%s in %zu bytes\n\n",
           kernel.name, kpk_module_name(module), kernel.nargs_given,
           kernel.nargs_given == 1 ? "" : "s", kernel.packed_nbytes);
    if (kernel.nargs) {
        kernel_args_table(module, k, kernel.nargs);
        putchar('\n');
    }
    kernel_attrs_table(module, k);
}

static void json_kernel(const char *key, const kpk_module *module, size_t k)
{
    kpk_kernel_decl kernel;
    kpk_object object;
    kpk_arg_decl arg;
    kpk_attrs attrs;

    cmd_need(kpk_module_kernel(module, k, &kernel));
    json_open(key, '{');
    json_string("name", kernel.name);
    json_string("module", kpk_module_name(module));
    json_number("packed_nbytes", kernel.packed_nbytes);
    json_open("args", '[');
    for (size_t i = 0; i < kernel.nargs; i++) {
        cmd_need(kpk_module_arg(module, k, i, &arg));
        json_open(NULL, '{');
        json_string("name", arg.name);
        json_number("offset", arg.offset);
        json_number("nbytes", arg.nbytes);
        json_string("kind", kind_names[arg.kind]);
        json_bool("padding", arg.is_padding);
        json_close('}');
    }
    json_close(']');
    json_open("targets", '[');
    for (size_t i = 0; i < kpk_module_object_count(module); i++) {
        cmd_need(kpk_module_object_info(module, i, &object));
        cmd_need(kpk_module_attrs(module, k, i, &attrs));
        json_open(NULL, '{');
        json_string("target", object.target);
#define X(title, name, field) json_number(name, attrs.field);
        ATTR_TABLE(X)
#undef X
        json_open("reqd_block", '[');
        for (int d = 0; d < 3; d++)
            json_number(NULL, attrs.reqd_block[d]);
        json_close(']');
        json_close('}');
    }
    json_close(']');
    json_close('}');
}

static const char *const type_names[] = {"int", "float", "text"};

/* A table's title and its columns; its rows are many. */
static void text_tables(const kpk_module *module)
{
    kpk_table_decl decl;
    kpk_column_decl column;

    for (size_t t = 0; t < kpk_module_table_count(module); t++) {
        cmd_need(kpk_module_table(module, t, &decl));
        printf("table %s: %zu row%s of", decl.name, decl.nrows,
               decl.nrows == 1 ? "" : "s");
        for (size_t c = 0; c < decl.ncolumns; c++) {
            cmd_need(kpk_table_column(module, t, c, &column));
            printf("%s %s (%s)", c ? "," : "", column.name,
                   type_names[column.type]);
        }
        putchar('\n');
    }
}

static void json_row(const kpk_module *module, size_t t, size_t r, size_t n)
{
    kpk_row row;
    kpk_cell cell;

    cmd_need(kpk_table_row(module, t, r, &row));
    json_open(NULL, '{');
    json_string("kernel", row.kernel);
    json_string("target", row.target);
    json_string("module", row.module);
    json_open("cells", '[');
    for (size_t c = 0; c < n; c++) {
        cmd_need(kpk_table_cell(module, t, r, c, &cell));
        if (cell.type == KPK_TYPE_STRING)
            json_string(NULL, cell.s);
        else if (cell.type == KPK_TYPE_INT)
            json_raw(NULL, "%lld", (long long)cell.i);
        else
            json_raw(NULL, "%.17g", cell.f);
    }
    json_close(']');
    json_close('}');
}

static void json_columns(const kpk_module *module, size_t t, size_t n)
{
    kpk_column_decl column;

    json_open("columns", '[');
    for (size_t c = 0; c < n; c++) {
        cmd_need(kpk_table_column(module, t, c, &column));
        json_open(NULL, '{');
        json_string("name", column.name);
        json_string("type", type_names[column.type]);
        json_close('}');
    }
    json_close(']');
}

static void json_tables(const kpk_module *module)
{
    kpk_table_decl decl;

    json_open("tables", '[');
    for (size_t t = 0; t < kpk_module_table_count(module); t++) {
        cmd_need(kpk_module_table(module, t, &decl));
        json_open(NULL, '{');
        json_string("name", decl.name);
        json_columns(module, t, decl.ncolumns);
        json_open("rows", '[');
        for (size_t r = 0; r < decl.nrows; r++)
            json_row(module, t, r, decl.ncolumns);
        json_close(']');
        json_close('}');
    }
    json_close(']');
}

static void text_module(const kpk_module *module)
{
    const size_t nkernels = kpk_module_kernel_count(module);
    struct table *table = table_new("TARGET >VERSION >BYTES SHA256");
    kpk_kernel_decl kernel;
    kpk_object object;

    printf("module %s: %zu kernel%s\n\n", kpk_module_name(module), nkernels,
           nkernels == 1 ? "" : "s");
    for (size_t i = 0; i < kpk_module_object_count(module); i++) {
        char hex[65];

        cmd_need(kpk_module_object_info(module, i, &object));
        cmd_hex(object.sha256, hex);
        table_cell(table, "%s", object.target);
        table_cell(table, "%u", object.cov);
        table_cell(table, "%zu", object.nbytes);
        table_cell(table, "%s", hex);
    }
    table_print(table);
    putchar('\n');
    for (size_t k = 0; k < nkernels; k++) {
        kpk_arg_decl arg;
        const char *comma = "";

        cmd_need(kpk_module_kernel(module, k, &kernel));
        printf("%s(", kernel.name);
        for (size_t i = 0; i < kernel.nargs; i++) {
            cmd_need(kpk_module_arg(module, k, i, &arg));
            if (arg.is_padding)
                continue;
            if (arg.kind == KPK_KIND_BUFFER)
                printf("%spointer", comma);
            else
                printf("%s%zu bytes", comma, arg.nbytes);
            if (*arg.name)
                printf(" %s", arg.name);
            comma = ", ";
        }
        printf(")\n");
    }
    text_tables(module);
}

static void json_module(const kpk_module *module)
{
    json_open(NULL, '{');
    json_string("name", kpk_module_name(module));
    json_open("kernels", '[');
    for (size_t k = 0; k < kpk_module_kernel_count(module); k++)
        json_kernel(NULL, module, k);
    json_close(']');
    json_tables(module);
    json_close('}');
}

/* Modules of that name: several in an imported pack, for different targets. */
static bool show_modules(const char *name, bool json)
{
    bool any = false;

    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);

        if (strcmp(kpk_module_name(module), name) != 0)
            continue;
        if (json) {
            json_module(module);
        } else {
            if (any)
                putchar('\n');
            text_module(module);
        }
        any = true;
    }
    return any;
}

static bool is_known(const char *name)
{
    size_t k;

    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);

        if (strcmp(kpk_module_name(module), name) == 0 ||
            kpk_module_find_kernel(module, name, &k) == KPK_OK)
            return true;
    }
    return false;
}

/* A name may be a module's and a kernel's at once: both are shown. */
int cmd_info(const struct options *options)
{
    const char *name = options->words[0];
    bool any;

    if (options->nwords == 2) {
        struct options rest = *options;

        rest.nwords = 1;
        return cmd_on_file(options->words[1], cmd_info, &rest);
    }
    if (!*cmd_pack_path && !is_known(name) && cmd_info_file(options, &any))
        return any ? EXIT_DONE : EXIT_NO;
    if (options->json) {
        json_open(NULL, '{');
        json_open("modules", '[');
    }
    any = show_modules(name, options->json);
    if (options->json) {
        json_close(']');
        json_open("kernels", '[');
    }
    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);
        size_t k;

        if (kpk_module_find_kernel(module, name, &k) != KPK_OK)
            continue;
        if (options->json)
            json_kernel(NULL, module, k);
        else {
            if (any)
                putchar('\n');
            text_kernel(module, k);
        }
        any = true;
    }
    if (options->json) {
        json_close(']');
        json_close('}');
        json_end();
    }
    if (!any && !*cmd_pack_path && file_kind(name) != FILE_NONE)
        (void)fprintf(stderr,
                      "kpack: info takes the name of a module or a kernel, and "
                      "\"%s\" is a file; `kpack list %s` shows what is in it\n",
                      name, name);
    else if (!any) {
        struct nearest nearest = nearest_to(name);

        cmd_offer_names(&nearest, true, true);
        (void)fprintf(stderr,
                      "kpack: no module and no kernel is called \"%s\"; "
                      "`kpack list --kernels%s%s` shows all of them%s\n",
                      name, *cmd_pack_path ? " " : "", cmd_pack_path,
                      nearest_hint(&nearest));
    }
    return any ? EXIT_DONE : EXIT_NO;
}
