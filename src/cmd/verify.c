/* verify.c - kpack verify: whether a file's code objects are whole, and whom
 * they serve */
#include "archive.h"
#include "cmd.h"
#include "exit_status.h"
#include "json.h"
#include "objects.h"
#include "search.h"

#include "base/sm_table.h"
#include "base/target_table.h"
#include "base/unwaited.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A processor and the feature settings with which devices report it. */
struct processor {
    const char *name;
    bool sramecc, xnack;
};

#define PROCESSOR_ROW(name, mach, major, minor, step, generic, sramecc, xnack, \
                      ...)                                                     \
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

        next = i + objects_run(list + i, n - i, objects_same_module);
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

    for (size_t i = 0; i < n;
         i += objects_run(list + i, n - i, objects_same_module))
        count++;
    return count;
}

static const char *const sms[] = {
#define X(number, ...) "sm_" #number,
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

static void print_unwaited(void *found, const char *function, uint64_t offset)
{
    const struct found *object = found;

    printf("  WARNING: module %s for %s, %s at +0x%" PRIx64 ": " UNWAITED_ADVICE
           "\n",
           object->module, object->target, function, offset);
}

static void json_unwaited(void *found, const char *function, uint64_t offset)
{
    (void)found;
    json_open(NULL, '{');
    json_string("function", function);
    json_number("offset", offset);
    json_close('}');
}

/* Decodes and hashes all objects; prints faults. */
static struct totals check_objects(const struct scan *scan,
                                   const struct found *const *list, size_t n,
                                   bool json)
{
    struct totals totals = {0, 0, 0};

    for (size_t i = 0; i < n; i++) {
        unsigned char *bytes = NULL;
        const char *fault = scan_content(scan, list[i], &bytes);
        const size_t nbytes = fault ? 0 : list[i]->head.nbytes;

        totals.nbytes += list[i]->head.nbytes;
        totals.stored_nbytes += list[i]->head.stored_nbytes;
        totals.ndamaged += fault != NULL;
        if (json) {
            json_open(NULL, '{');
            json_string("module", list[i]->module);
            objects_json(list[i]);
            json_bool("whole", !fault);
            if (fault)
                json_string("fault", fault);
            json_open("unwaited", '[');
            unwaited_find(bytes, nbytes, json_unwaited, NULL);
            json_close(']');
            json_close('}');
        } else if (fault) {
            printf("  DAMAGED: module %s for %s, at byte %zu: %s\n",
                   list[i]->module, list[i]->target, list[i]->at, fault);
        } else {
            unwaited_find(bytes, nbytes, print_unwaited, (void *)list[i]);
        }
        free(bytes);
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

    if (search_file(options->words[0], &scan))
        list = objects_sorted(&scan, &n);
    if (list) {
        if (options->json) {
            json_open(NULL, '{');
            json_string("file", options->words[0]);
            json_open("packs", '[');
        }
        for (size_t i = 0; i < n;
             i += objects_run(list + i, n - i, objects_same_pack)) {
            const size_t these =
                objects_run(list + i, n - i, objects_same_pack);

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
        ndamaged += objects_print_faults(&scan);
    }
    if (list && n == 0 && !scan.archives)
        (void)fprintf(stderr, "kpack: %s: no code object is left in it\n",
                      options->words[0]);
    free(list);
    search_free(&scan);
    return n && !ndamaged ? EXIT_DONE : EXIT_NO;
}
