/* objects.c - the code objects in a file, in order */
#include "objects.h"
#include "archive.h"
#include "hex.h"
#include "json.h"
#include "xmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const struct found *x = *(const struct found *const *)a;
    const struct found *y = *(const struct found *const *)b;
    int order = strcmp(x->pack, y->pack);

    if (!order)
        order = strcmp(x->module, y->module);
    if (!order)
        order = strcmp(x->target, y->target);
    if (!order) /* a copy: in the order of the file */
        order = x->at < y->at ? -1 : 1;
    return order;
}

const struct found **objects_sorted(const struct scan *scan, size_t *n)
{
    const struct found **list = cmd_calloc(scan->n, sizeof(*list));

    *n = 0;
    for (size_t i = 0; i < scan->n; i++) {
        if (scan_is_object(&scan->found[i]))
            list[(*n)++] = &scan->found[i];
    }
    qsort(list, *n, sizeof(*list), by_name);
    return list;
}

bool objects_same_pack(const struct found *a, const struct found *b)
{
    return strcmp(a->pack, b->pack) == 0;
}

bool objects_same_module(const struct found *a, const struct found *b)
{
    return objects_same_pack(a, b) && strcmp(a->module, b->module) == 0;
}

size_t objects_run(const struct found *const *list, size_t n,
                   bool (*same)(const struct found *, const struct found *))
{
    size_t i = 1;

    while (i < n && same(list[0], list[i]))
        i++;
    return i;
}

static const char *const codec_names[] = {"none", "zstd"};

void objects_json(const struct found *found)
{
    char hex[65];

    cmd_hex(found->head.sha256, hex);
    json_string("target", found->target);
    json_number("code_object_version", found->head.cov);
    json_number("nbytes", found->head.nbytes);
    json_number("stored_nbytes", found->head.stored_nbytes);
    json_string("codec", codec_names[found->head.codec]);
    json_string("sha256", hex);
    json_number("offset", found->at);
}

/* Prints the first faults of heads of code objects, gives the number of all. A
 * file that was cut short has lost more, as search_file() said. */
enum { MOST_FAULTS = 8 };
size_t objects_print_faults(const struct scan *scan)
{
    size_t n = 0;

    for (size_t i = 0; i < scan->n; i++) {
        if (!scan->found[i].fault)
            continue;
        if (n++ < MOST_FAULTS)
            (void)fprintf(stderr, "kpack: %s: code object at byte %zu: %s\n",
                          scan->found[i].file, scan->found[i].at,
                          scan->found[i].fault);
    }
    if (n > MOST_FAULTS)
        (void)fprintf(stderr, "kpack: %s: and %zu more like that\n", scan->path,
                      n - MOST_FAULTS);
    return n + scan->cut + archive_faults(scan);
}
