/* extract_file.c - kpack extract on a file: one code object, or all */
#include "extract_file.h"
#include "exit_status.h"
#include "file_name.h"
#include "objects.h"
#include "search.h"
#include "whole_file.h"
#include "xmalloc.h"

#include "base/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    STEM_NBYTES = FOLDER_MAX + 202 + 512,
    PATH_NBYTES = STEM_NBYTES + 32,
};

/* A file that was written; no two code objects get the same name. */
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

/* The path to write: STEM.hsaco, or STEM with the next number if the name is
 * taken. The last number is kept, because a file can have thousands of one
 * name. False if the same bytes were written already. */
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

/* The folder for one of several packs, below the given folder. */
static void pack_folder(const char *folder, const char *pack, char *path,
                        size_t nbytes)
{
    (void)snprintf(path, nbytes, "%s/%.200s", folder, pack);
    for (char *c = path + strlen(folder) + 1; *c; c++) {
        if (!isalnum((unsigned char)*c))
            *c = '_';
    }
    (void)file_make_folder(path);
}

static void free_written(struct written *written)
{
    free(written->path);
    free(written->wanted);
    *written = (struct written){.path = NULL};
}

/* Extracts one pack into the folder, several packs into a folder each below it.
 * In place of a damaged code object a copy is written that is whole. */
static int extract_all(const struct scan *scan, const struct found *const *list,
                       size_t n, const char *folder)
{
    const bool several = n && objects_run(list, n, objects_same_pack) < n;
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

/* Extracts the code object of one module and target. Several packs may have it
 * if its bytes are the same in all. */
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
            found = list[i]; /* a whole copy, if there is one */
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
    if (search_file(options->words[0], &scan))
        list = objects_sorted(&scan, &n);
    if (list && options->all)
        status = extract_all(&scan, list, n,
                             options->output ? options->output : ".");
    else if (list)
        status = extract_one(&scan, list, n, options);
    if (list && options->all && objects_print_faults(&scan) &&
        status == EXIT_DONE)
        status = EXIT_NO;
    free(list);
    search_free(&scan);
    return status;
}
