/* foreign.c - kpack list, extract and verify on somebody's file */
#include "archive.h"
#include "cmd.h"
#include "memory.h"
#include "scan.h"

#include "../sm_table.h"
#include "../target_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const codec_names[] = {"none", "zstd"};

/* ---- order: packs, modules and targets by name --------------------------- */

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

/* The code objects, sorted, to be freed; those with a fault are left out. */
static const struct found **sorted_objects(const struct scan *scan, size_t *n)
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

static bool same_pack(const struct found *a, const struct found *b)
{
    return strcmp(a->pack, b->pack) == 0;
}

static bool same_module(const struct found *a, const struct found *b)
{
    return same_pack(a, b) && strcmp(a->module, b->module) == 0;
}

/* How many from list[0] on are of its pack, or of its module. */
static size_t run_of(const struct found *const *list, size_t n,
                     bool (*same)(const struct found *, const struct found *))
{
    size_t i = 1;

    while (i < n && same(list[0], list[i]))
        i++;
    return i;
}

/* ---- list ----------------------------------------------------------- */

static void json_object(const struct found *found)
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

/* Heads that are not to be believed: how many, the first of them printed. A
 * file that was cut short has lost more, as scan_file() said. */
enum { MOST_FAULTS = 8 };
size_t cmd_print_faults(const struct scan *scan)
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

static void list_json(const struct scan *scan, const struct found *const *list,
                      size_t n)
{
    json_open(NULL, '{');
    json_open("objects", '[');
    for (size_t i = 0; i < n; i++) {
        json_open(NULL, '{');
        json_string("pack", list[i]->pack);
        json_string("module", list[i]->module);
        json_object(list[i]);
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

    if (options->kernels) {
        (void)fprintf(stderr, "kpack: --kernels is for the pack of this "
                              "command; heads in a file do not name kernels\n");
        return EXIT_USAGE;
    }
    if (scan_file(options->words[0], &scan))
        list = sorted_objects(&scan, &n);
    if (list) {
        if (options->json)
            list_json(&scan, list, n);
        else
            list_table(list, n);
        if (!options->json)
            archive_print(&scan, false);
        status = cmd_print_faults(&scan) ? EXIT_NO : EXIT_DONE;
    }
    free(list);
    scan_free(&scan);
    return status;
}

/* ---- info, of AMD's files ------------------------------------------- */

bool cmd_info_file(const struct options *options, bool *sound)
{
    const char *path = options->words[0];
    struct stat status;
    struct scan scan;
    bool is, read;

    /* Most words are names that nothing is called by; no pipe is waited for. */
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    is = scan_read(path, &scan) && archive_is(&scan);
    scan_free(&scan);
    if (!is)
        return false;
    read = scan_file(path, &scan);
    if (options->json) {
        json_open(NULL, '{');
        archive_json(&scan);
        json_close('}');
        json_end();
    } else {
        archive_print(&scan, true);
    }
    *sound = cmd_print_faults(&scan) == 0 && read;
    scan_free(&scan);
    return true;
}

/* ---- extract -------------------------------------------------------- */

void cmd_file_name(char *name)
{
    for (char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("_.+-:", *c))
            *c = '-';
    }
    if (name[0] == '.')
        name[0] = '-';
}

/* MODULE-TARGET: names come from the file and must stay in the folder. */
static void file_name(const struct found *found, char *out, size_t nbytes)
{
    (void)snprintf(out, nbytes, "%s-%s", found->module, found->target);
    cmd_file_name(out);
}

static int extract_to(const struct scan *scan, const struct found *found,
                      const char *path)
{
    unsigned char *bytes = NULL;
    const char *fault = scan_content(scan, found, &bytes);
    int status;

    if (fault) {
        (void)fprintf(stderr, "kpack: %s: module %s for %s: %s\n", scan->path,
                      found->module, found->target, fault);
        return EXIT_NO;
    }
    status = cmd_write_file(path, bytes, (size_t)found->head.nbytes, NULL);
    free(bytes);
    return status;
}

enum {
    FOLDER_MAX = 3000, /* bytes, its name */
    STEM_NBYTES = FOLDER_MAX + 202 + 512,
    PATH_NBYTES = STEM_NBYTES + 32,
};

/* What has been written: two code objects never get one name. */
struct written {
    char *path;
    const uint8_t *sha256;
    char *wanted; /* the path without a number, and the number that it got */
    unsigned number;
};

static const struct written *find_written(const struct written *list, size_t n,
                                          const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].path, path) == 0)
            return &list[i];
    }
    return NULL;
}

static char *copy_text(const char *text)
{
    const size_t nbytes = strlen(text) + 1;

    return memcpy(cmd_malloc(nbytes), text, nbytes);
}

static bool same_content(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, 32) == 0;
}

/* STEM.hsaco, say, or with a number where that is taken: one more than the
 * last, for a file can have thousands of one name. False if it is taken by the
 * same bytes. */
static bool free_path(const struct written *list, size_t n, const char *stem,
                      const struct found *found, struct written *out)
{
    const char *extension = cmd_extension(found->target);
    const struct written *taken;
    char wanted[PATH_NBYTES];
    char path[PATH_NBYTES];

    (void)snprintf(wanted, sizeof(wanted), "%s.%s", stem, extension);
    memcpy(path, wanted, sizeof(path));
    *out = (struct written){.sha256 = found->head.sha256, .number = 1};
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].wanted, wanted) != 0)
            continue;
        if (same_content(list[i].sha256, out->sha256))
            return false;
        out->number = list[i].number;
    }
    while ((taken = find_written(list, n, path)) != NULL) {
        if (same_content(taken->sha256, out->sha256))
            return false;
        (void)snprintf(path, sizeof(path), "%s.%u.%s", stem, ++out->number,
                       extension);
    }
    if (out->number > 1)
        (void)fprintf(stderr, "kpack: %s is taken by other code: %s\n", wanted,
                      path);
    out->path = copy_text(path);
    out->wanted = copy_text(wanted);
    return true;
}

bool cmd_make_folder(const char *folder)
{
    if (strlen(folder) >= FOLDER_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return mkdir(folder, 0777) == 0 || errno == EEXIST;
}

/* The folder of one of several packs, below that of all. */
static void pack_folder(const char *folder, const char *pack, char *path,
                        size_t nbytes)
{
    (void)snprintf(path, nbytes, "%s/%.200s", folder, pack);
    for (char *c = path + strlen(folder) + 1; *c; c++) {
        if (!isalnum((unsigned char)*c))
            *c = '_';
    }
    (void)mkdir(path, 0777);
}

static void free_written(const struct written *written)
{
    free(written->path);
    free(written->wanted);
}

/* One pack into the folder, several into a folder each below it. Of one that is
 * damaged a copy may be whole. */
static int extract_all(const struct scan *scan, const struct found *const *list,
                       size_t n, const char *folder)
{
    const bool several = n && run_of(list, n, same_pack) < n;
    struct written *written = cmd_calloc(n, sizeof(*written));
    size_t nwritten = 0, ncopies = 0;
    int status = EXIT_DONE;

    if (!cmd_make_folder(folder)) {
        free(written);
        return cmd_write_failed(folder);
    }
    for (size_t i = 0; i < n; i++) {
        char name[512];
        char into[FOLDER_MAX + 202];
        char stem[STEM_NBYTES];
        int one;

        file_name(list[i], name, sizeof(name));
        (void)snprintf(into, sizeof(into), "%s", folder);
        if (several)
            pack_folder(folder, list[i]->pack, into, sizeof(into));
        (void)snprintf(stem, sizeof(stem), "%s/%s", into, name);
        if (!free_path(written, nwritten, stem, list[i], &written[nwritten])) {
            ncopies++;
            continue;
        }
        one = extract_to(scan, list[i], written[nwritten].path);
        if (one == EXIT_NO)
            free_written(&written[nwritten]);
        else
            nwritten++;
        if (status == EXIT_DONE)
            status = one;
    }
    if (ncopies)
        (void)fprintf(stderr,
                      "kpack: %zu code objects, %zu files: %zu are copies\n", n,
                      nwritten, ncopies);
    while (nwritten > 0)
        free_written(&written[--nwritten]);
    free(written);
    return status;
}

/* Two of several packs in one file may have it: then the same bytes. */
static int extract_one(const struct scan *scan, const struct found *const *list,
                       size_t n, const struct options *options)
{
    const struct found *found = NULL;
    char name[512];
    char path[520];

    for (size_t i = 0; i < n; i++) {
        unsigned char *bytes = NULL;

        if (strcmp(list[i]->module, options->words[1]) != 0 ||
            strcmp(list[i]->target, options->words[2]) != 0)
            continue;
        if (found && !same_content(found->head.sha256, list[i]->head.sha256)) {
            (void)fprintf(stderr,
                          "kpack: %s has two different code objects of module "
                          "\"%s\" for \"%s\", in pack %s and in pack %s; "
                          "`kpack extract --all` writes both\n",
                          scan->path, options->words[1], options->words[2],
                          found->pack, list[i]->pack);
            return EXIT_NO;
        }
        if (!found || !scan_content(scan, list[i], &bytes))
            found = list[i]; /* of copies one that is whole */
        free(bytes);
    }
    if (found) {
        file_name(found, name, sizeof(name));
        (void)snprintf(path, sizeof(path), "%s.%s", name,
                       cmd_extension(found->target));
        return extract_to(scan, found,
                          options->output ? options->output : path);
    }
    (void)fprintf(stderr,
                  "kpack: %s has no module \"%s\" for exactly \"%s\"; `kpack "
                  "list %s` shows what it has\n",
                  scan->path, options->words[1], options->words[2], scan->path);
    return EXIT_NO;
}

int cmd_extract_file(const struct options *options)
{
    const struct found **list = NULL;
    struct scan scan;
    size_t n;
    int status = EXIT_NO;

    if (options->nwords != (options->all ? 1 : 3)) {
        (void)fprintf(stderr, "kpack: extract takes MODULE TARGET-ID, FILE "
                              "MODULE TARGET-ID, or FILE --all\n");
        return EXIT_USAGE;
    }
    if (scan_file(options->words[0], &scan))
        list = sorted_objects(&scan, &n);
    if (list && options->all)
        status = extract_all(&scan, list, n,
                             options->output ? options->output : ".");
    else if (list)
        status = extract_one(&scan, list, n, options);
    if (list && options->all && cmd_print_faults(&scan) && status == EXIT_DONE)
        status = EXIT_NO;
    free(list);
    scan_free(&scan);
    return status;
}

/* ---- verify --------------------------------------------------------- */

/* A processor as devices report it: with each setting it can have. */
struct processor {
    const char *name;
    bool sramecc, xnack;
};

#define PROCESSOR_ROW(name, mach, major, minor, step, generic, sramecc, xnack, \
                      wave)                                                    \
    {#name, sramecc, xnack},
static const struct processor processors[] = {
    KPK_PROCESSOR_TABLE(PROCESSOR_ROW)};
enum { NPROCESSORS = sizeof(processors) / sizeof(processors[0]) };

/* Setting number i of a processor, as in gfx90a:sramecc+:xnack-. */
static bool device_name(const struct processor *p, unsigned i, char out[64])
{
    if (i >> (p->sramecc + p->xnack))
        return false;
    (void)snprintf(out, 64, "%s%s%s", p->name,
                   !p->sramecc ? ""
                   : i & 1u    ? ":sramecc-"
                               : ":sramecc+",
                   !p->xnack                        ? ""
                   : i >> (unsigned)p->sramecc & 1u ? ":xnack+"
                                                    : ":xnack-");
    return true;
}

/* How many of a pack's modules have a code object for a device. */
static size_t modules_for(const struct found *const *list, size_t n,
                          const char *device)
{
    size_t count = 0;
    size_t next;

    for (size_t i = 0; i < n; i = next) {
        bool fits = false;

        next = i + run_of(list + i, n - i, same_module);
        for (size_t k = i; k < next && !fits; k++) {
            kpk_fit fit;

            fits = kpk_target_fit(device, list[k]->target, &fit, NULL, 0) ==
                       KPK_OK &&
                   fit != KPK_FIT_NONE;
        }
        count += fits;
    }
    return count;
}

static size_t count_modules(const struct found *const *list, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i += run_of(list + i, n - i, same_module))
        count++;
    return count;
}

static const char *const sms[] = {
#define X(number, tegra) "sm_" #number,
    KPK_SM_TABLE(X)
#undef X
};

/* Calls `report` with a device and the number of modules that it runs: once
 * for a processor if its settings make no difference. */
typedef void device_report(const char *device, size_t nmodules, size_t of);

static void each_device(const struct found *const *list, size_t n,
                        device_report *report)
{
    const size_t of = count_modules(list, n);

    for (size_t p = 0; p < NPROCESSORS; p++) {
        size_t counts[4] = {0};
        bool alike = true;
        char device[64];

        for (unsigned i = 0; device_name(&processors[p], i, device); i++) {
            counts[i] = modules_for(list, n, device);
            alike = alike && counts[i] == counts[0];
        }
        if (alike) {
            report(processors[p].name, counts[0], of);
            continue;
        }
        for (unsigned i = 0; device_name(&processors[p], i, device); i++)
            report(device, counts[i], of);
    }
    for (size_t i = 0; i < sizeof(sms) / sizeof(sms[0]); i++)
        report(sms[i], modules_for(list, n, sms[i]), of);
}

static void print_whole(const char *device, size_t nmodules, size_t of)
{
    if (nmodules == of)
        printf(" %s", device);
}

static void print_part(const char *device, size_t nmodules, size_t of)
{
    if (nmodules && nmodules < of)
        printf("  runs in part on %s: %zu of %zu modules\n", device, nmodules,
               of);
}

static void json_whole(const char *device, size_t nmodules, size_t of)
{
    if (nmodules == of)
        json_string(NULL, device);
}

static void json_part(const char *device, size_t nmodules, size_t of)
{
    if (!nmodules || nmodules == of)
        return;
    json_open(NULL, '{');
    json_string("device", device);
    json_number("modules", nmodules);
    json_close('}');
}

struct totals {
    uint64_t nbytes, stored_nbytes;
    size_t ndamaged;
};

/* Decodes and hashes; prints what is wrong. */
static struct totals check_objects(const struct scan *scan,
                                   const struct found *const *list, size_t n,
                                   bool json)
{
    struct totals totals = {0, 0, 0};

    for (size_t i = 0; i < n; i++) {
        unsigned char *bytes = NULL;
        const char *fault = scan_content(scan, list[i], &bytes);

        free(bytes);
        totals.nbytes += list[i]->head.nbytes;
        totals.stored_nbytes += list[i]->head.stored_nbytes;
        totals.ndamaged += fault != NULL;
        if (json) {
            json_open(NULL, '{');
            json_string("module", list[i]->module);
            json_object(list[i]);
            json_bool("whole", !fault);
            if (fault)
                json_string("fault", fault);
            json_close('}');
        } else if (fault) {
            printf("  DAMAGED: module %s for %s, at byte %zu: %s\n",
                   list[i]->module, list[i]->target, list[i]->at, fault);
        }
    }
    return totals;
}

static size_t verify_pack_json(const struct scan *scan,
                               const struct found *const *list, size_t n)
{
    struct totals totals;

    json_open(NULL, '{');
    json_string("name", list[0]->pack);
    json_number("modules", count_modules(list, n));
    json_open("objects", '[');
    totals = check_objects(scan, list, n, true);
    json_close(']');
    json_number("nbytes", totals.nbytes);
    json_number("stored_nbytes", totals.stored_nbytes);
    json_number("damaged", totals.ndamaged);
    json_open("runs_on", '[');
    each_device(list, n, json_whole);
    json_close(']');
    json_open("runs_in_part_on", '[');
    each_device(list, n, json_part);
    json_close(']');
    json_close('}');
    return totals.ndamaged;
}

static size_t verify_pack_text(const struct scan *scan,
                               const struct found *const *list, size_t n)
{
    struct totals totals;

    printf("pack %s in %s\n", list[0]->pack, scan->path);
    totals = check_objects(scan, list, n, false);
    printf("  %zu modules, %zu code objects, %.1f MB", count_modules(list, n),
           n, (double)totals.nbytes / 1e6);
    if (totals.stored_nbytes != totals.nbytes)
        printf(", stored in %.1f MB", (double)totals.stored_nbytes / 1e6);
    /* AMD's archives have no SHA-256. Their damaged code objects were found
     * when they were decoded, and are not in the list. */
    if (scan->archives)
        printf("\n  AMD's archives: %zu code objects are whole\n  runs on:",
               n - totals.ndamaged);
    else
        printf("\n  SHA-256: %zu right, %zu damaged\n  runs on:",
               n - totals.ndamaged, totals.ndamaged);
    each_device(list, n, print_whole);
    putchar('\n');
    each_device(list, n, print_part);
    return totals.ndamaged;
}

int cmd_verify(const struct options *options)
{
    const struct found **list = NULL;
    struct scan scan;
    size_t ndamaged = 0;
    size_t n = 0;

    if (scan_file(options->words[0], &scan))
        list = sorted_objects(&scan, &n);
    if (list) {
        if (options->json) {
            json_open(NULL, '{');
            json_string("file", options->words[0]);
            json_open("packs", '[');
        }
        for (size_t i = 0; i < n; i += run_of(list + i, n - i, same_pack)) {
            const size_t these = run_of(list + i, n - i, same_pack);

            ndamaged += options->json
                            ? verify_pack_json(&scan, list + i, these)
                            : verify_pack_text(&scan, list + i, these);
        }
        if (options->json) {
            json_close(']');
            archive_json(&scan);
            json_close('}');
            json_end();
        } else {
            archive_print(&scan, true);
        }
        ndamaged += cmd_print_faults(&scan);
    }
    if (list && n == 0 && !scan.archives)
        (void)fprintf(stderr, "kpack: %s: no code object is left in it\n",
                      options->words[0]);
    free(list);
    scan_free(&scan);
    return n && !ndamaged ? EXIT_DONE : EXIT_NO;
}
