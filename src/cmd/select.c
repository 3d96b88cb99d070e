/* select.c - kpack select: which code objects a device would run, and why */
#include "cmd.h"
#include "exit_status.h"
#include "file_pack.h"
#include "json.h"
#include "own_pack.h"
#include "text_columns.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

static const char *const fit_names[] = {"exact", "any", "generic", "none"};

static void json_row(const kpk_module *module, kpk_status st,
                     const kpk_selection *selection)
{
    json_open(NULL, '{');
    json_string("module", kpk_module_name(module));
    json_string("fit", fit_names[st == KPK_OK ? selection->fit : KPK_FIT_NONE]);
    if (st == KPK_OK) {
        json_string("object", selection->target);
        json_string("why", selection->why);
    } else {
        json_string("why", kpk_error_message());
    }
    json_close('}');
}

static void row(struct table *table, const kpk_module *module, kpk_status st,
                const kpk_selection *selection)
{
    table_cell(table, "%s", kpk_module_name(module));
    table_cell(table, "%s", st == KPK_OK ? selection->target : "-");
    table_cell(table, "%s",
               st == KPK_OK ? selection->why : kpk_error_message());
}

/* Whether a module of the same name fits, as imported packs have. */
static bool has_better(const kpk_module *module, const char *target)
{
    return cmd_find_module(kpk_module_name(module), target) != module;
}

/* The second word is a file if no module has the name, and it is a path or the
 * name of a file that is there. Imported packs have modules such as k/scale. */
static bool is_file(const char *word)
{
    return !kpk_pack_find(cmd_pack, word) &&
           (strchr(word, '/') || file_kind(word) != FILE_NONE);
}

int cmd_select(const struct options *options)
{
    struct options rest = *options;
    const char *target = options->words[0];
    const kpk_module *only = NULL;
    struct table *table = NULL;
    kpk_selection selection;
    int status = EXIT_DONE;
    kpk_fit unused;
    kpk_status st = kpk_target_fit(target, target, &unused, NULL, 0);

    if (st != KPK_OK) { /* not a target ID: the command line is wrong */
        (void)cmd_failed(st);
        return EXIT_USAGE;
    }
    rest.nwords--;
    if (options->nwords == 3 ||
        (options->nwords == 2 && !*cmd_pack_path && is_file(options->words[1])))
        return cmd_on_file(options->words[rest.nwords], cmd_select, &rest);
    if (options->nwords == 2) {
        only = cmd_find_module(options->words[1], target);
        if (!only)
            return EXIT_NO;
    }
    if (options->json)
        json_open(NULL, '[');
    else
        table = table_new("MODULE OBJECT WHY");
    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);

        if (only ? module != only : kpk_module_object_count(module) == 0)
            continue;
        st = kpk_select(module, target, &selection);
        if (st != KPK_OK && has_better(module, target))
            continue;
        if (st != KPK_OK)
            status = EXIT_NO;
        if (options->json)
            json_row(module, st, &selection);
        else
            row(table, module, st, &selection);
    }
    if (options->json) {
        json_close(']');
        json_end();
    } else {
        table_print(table);
    }
    return status;
}
