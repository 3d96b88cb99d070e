/* list.c - kpack list: the modules of the pack */
#include "cmd.h"
#include "exit_status.h"
#include "file_pack.h"
#include "hex.h"
#include "json.h"
#include "list_file.h"
#include "own_pack.h"
#include "text_columns.h"

#include <stdio.h>

static size_t total_nbytes(const kpk_module *module)
{
    size_t nbytes = 0;
    kpk_object object;

    for (size_t i = 0; i < kpk_module_object_count(module); i++) {
        cmd_need(kpk_module_object_info(module, i, &object));
        nbytes += object.nbytes;
    }
    return nbytes;
}

static void json_object(const kpk_object *object)
{
    char hex[65];

    cmd_hex(object->sha256, hex);
    json_open(NULL, '{');
    json_string("target", object->target);
    json_number("code_object_version", object->cov);
    json_number("nbytes", object->nbytes);
    json_string("sha256", hex);
    json_close('}');
}

static void json_module(const kpk_module *module)
{
    kpk_kernel_decl kernel;
    kpk_object object;

    json_open(NULL, '{');
    json_string("name", kpk_module_name(module));
    json_open("kernels", '[');
    for (size_t i = 0; i < kpk_module_kernel_count(module); i++) {
        cmd_need(kpk_module_kernel(module, i, &kernel));
        json_string(NULL, kernel.name);
    }
    json_close(']');
    json_open("objects", '[');
    for (size_t i = 0; i < kpk_module_object_count(module); i++) {
        cmd_need(kpk_module_object_info(module, i, &object));
        if (object.nbytes) /* not what `kpack prune` took out */
            json_object(&object);
    }
    json_close(']');
    json_close('}');
}

static int list_json(void)
{
    json_open(NULL, '{');
    json_string("pack", kpk_pack_name(cmd_pack));
    json_string("version", KPK_VERSION_STRING);
    json_open("modules", '[');
    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++)
        json_module(kpk_pack_module(cmd_pack, i));
    json_close(']');
    json_close('}');
    json_end();
    return EXIT_DONE;
}

static int list_kernels(void)
{
    struct table *table = table_new("KERNEL MODULE >ARGS >BYTES");

    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);
        kpk_kernel_decl kernel;

        for (size_t k = 0; k < kpk_module_kernel_count(module); k++) {
            cmd_need(kpk_module_kernel(module, k, &kernel));
            table_cell(table, "%s", kernel.name);
            table_cell(table, "%s", kpk_module_name(module));
            table_cell(table, "%zu", kernel.nargs_given);
            table_cell(table, "%zu", kernel.packed_nbytes);
        }
    }
    table_print(table);
    return EXIT_DONE;
}

/* All targets in one cell: they end the line, whatever its length. */
static void targets_cell(struct table *table, const kpk_module *module)
{
    char text[1000];
    size_t used = 0;
    kpk_object object;

    text[0] = '\0';
    for (size_t i = 0; i < kpk_module_object_count(module); i++) {
        int n;

        cmd_need(kpk_module_object_info(module, i, &object));
        if (object.nbytes == 0) /* `kpack prune` took it out */
            continue;
        n = snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
                     object.target);
        if (n < 0 || (size_t)n >= sizeof(text) - used)
            break;
        used += (size_t)n;
    }
    table_cell(table, "%s", text);
}

int cmd_list(const struct options *options)
{
    struct table *table;

    if (options->nwords && options->kernels) {
        struct options rest = *options;

        rest.nwords = 0;
        return cmd_on_file(options->words[0], cmd_list, &rest);
    }
    if (options->nwords)
        return cmd_list_file(options);
    if (options->json)
        return list_json();
    if (options->kernels)
        return list_kernels();
    table = table_new("MODULE >KERNELS >BYTES TARGETS");
    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);

        table_cell(table, "%s", kpk_module_name(module));
        table_cell(table, "%zu", kpk_module_kernel_count(module));
        table_cell(table, "%zu", total_nbytes(module));
        targets_cell(table, module);
    }
    table_print(table);
    return EXIT_DONE;
}
