/* extract.c - kpack extract: writes one code object of the pack to a file */
#include "cmd.h"
#include "exit_status.h"
#include "export.h"
#include "extract_file.h"
#include "file_name.h"
#include "own_pack.h"
#include "whole_file.h"

#include <stdio.h>
#include <string.h>

/* The object of exactly that target ID, else the one that a device of that
 * target ID would run, which is said. */
static kpk_status find(const kpk_module *module, const char *target,
                       kpk_object *out)
{
    kpk_selection selection;
    size_t i;
    kpk_status st = cmd_find_object(module, target, &i);

    if (st != KPK_OK) {
        st = kpk_select(module, target, &selection);
        if (st != KPK_OK)
            return st;
        i = selection.object;
        (void)fprintf(stderr, "kpack: taking %s (%s)\n", selection.target,
                      selection.why);
    }
    return kpk_module_object(module, i, out);
}

int cmd_extract(const struct options *options)
{
    const kpk_module *module;
    kpk_object object;
    char name[512];
    kpk_status st;

    if (options->kpack || options->keys)
        return cmd_export(options);
    if (options->all || options->nwords != 2)
        return cmd_extract_file(options);
    module = cmd_find_module(options->words[0], options->words[1]);
    if (!module)
        return EXIT_NO;
    st = find(module, options->words[1], &object);
    if (st != KPK_OK)
        return cmd_failed(st);
    (void)snprintf(name, sizeof(name), "%s-%s.%s", kpk_module_name(module),
                   object.target, cmd_extension(object.target));
    for (char *c = name; *c; c++) /* no folders, which imported modules have */
        if (*c == '/')
            *c = '_';
    return cmd_write_file(options->output ? options->output : name, object.data,
                          object.nbytes, NULL);
}
