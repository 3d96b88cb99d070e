/* list_file.c - kpack list on a file, and kpack info on AMD's archives */
#include "list_file.h"
#include "archive.h"
#include "exit_status.h"
#include "hex.h"
#include "json.h"
#include "objects.h"
#include "search.h"
#include "text_columns.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>

static void list_json(const struct scan *scan, const struct found *const *list,
                      size_t n)
{
    json_open(NULL, '{');
    json_open("objects", '[');
    for (size_t i = 0; i < n; i++) {
        json_open(NULL, '{');
        json_string("pack", list[i]->pack);
        json_string("module", list[i]->module);
        objects_json(list[i]);
        json_close('}');
    }
    json_close(']');
    archive_json(scan);
    json_close('}');
    json_end();
}

static void list_table(const struct found *const *list, size_t n)
{
    struct table *table =
        table_new("PACK MODULE TARGET >VERSION >BYTES >STORED SHA256");
    char hex[65];

    for (size_t i = 0; i < n; i++) {
        table_cell(table, "%s", list[i]->pack);
        table_cell(table, "%s", list[i]->module);
        table_cell(table, "%s", list[i]->target);
        table_cell(table, "%u", (unsigned)list[i]->head.cov);
        table_cell(table, "%llu", (unsigned long long)list[i]->head.nbytes);
        table_cell(table, "%llu",
                   (unsigned long long)list[i]->head.stored_nbytes);
        cmd_hex(list[i]->head.sha256, hex);
        table_cell(table, "%s", hex);
    }
    table_print(table);
}

int cmd_list_file(const struct options *options)
{
    const struct found **list = NULL;
    struct scan scan;
    size_t n;
    int status = EXIT_NO;

    if (search_file(options->words[0], &scan))
        list = objects_sorted(&scan, &n);
    if (list) {
        if (options->json)
            list_json(&scan, list, n);
        else
            list_table(list, n);
        if (!options->json)
            archive_print(&scan, false);
        status = objects_print_faults(&scan) ? EXIT_NO : EXIT_DONE;
    }
    free(list);
    search_free(&scan);
    return status;
}

bool cmd_info_file(const struct options *options, bool *sound)
{
    const char *path = options->words[0];
    struct scan scan;
    bool is, read;

    /* Most words are kernels' names. A pipe would block. */
    if (file_kind(path) != FILE_REGULAR)
        return false;
    is = scan_read(path, &scan) && archive_is(&scan);
    search_free(&scan);
    if (!is)
        return false;
    read = search_file(path, &scan);
    if (options->json) {
        json_open(NULL, '{');
        archive_json(&scan);
        json_close('}');
        json_end();
    } else {
        archive_print(&scan, true);
    }
    *sound = objects_print_faults(&scan) == 0 && read;
    search_free(&scan);
    return true;
}
