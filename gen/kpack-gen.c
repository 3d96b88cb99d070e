/* kpack-gen.c - the command: code objects in, C tables and headers out
 *
 *   kpack-gen module PACK.MODULE FOLDER TARGET=FILE... [table=FILE.csv...]
 *                    [ir=FILE.ll] [types=FILE.csv] [aliases=FILE.csv]
 *                    [taken=HEADER...]        all that is made of a module
 *   kpack-gen pack   PACK FOLDER MODULE...    files that name the pack
 *   kpack-gen header PACK OUT MODULE.kernels...
 *                                             a header of some of its modules
 *   kpack-gen second-names PACK.MODULE OUT OBJECT.o ALIASES.csv
 *                                             an object whose kernels have
 *                                             second names, too
 *   kpack-gen import PACK FOLDER DIR          a pack of a tree of prebuilt code
 *                                             objects (pack/import.h)
 *
 * `module` and `pack` write, below FOLDER,
 *
 *   gen/MODULE.c               the module's tables
 *   gen/MODULE.kernels         its kernels, for the pack's header
 *   blob/TARGET/MODULE.head    what stands before a code object in the program
 *   include/kpack/PACK/MODULE.h  its typed launchers
 *   rust/PACK/MODULE.rs        the same for Rust
 *   gen/pack.c                 the pack's table
 *   include/kpack/PACK.h       its header
 *   include/kpack/PACK_launch.h  the header of all launchers
 *   rust/PACK.rs               both for Rust
 *
 * and `import` what write/tree.h lists. A file appears complete or not at all;
 * an unchanged file keeps its time. Silent on success. Faults are reported as
 * `FILE: what`, with status 1; a wrong command line is status 2.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pack/build.h"
#include "pack/import.h"
#include "pack/import_parts.h"
#include "util/alloc_or_exit.h"
#include "util/file.h"
#include "util/output.h"
#include "write/blob.h"
#include "write/launchers.h"
#include "write/pack_files.h"
#include "write/part.h"
#include "write/records.h"
#include "write/rust.h"
#include "write/second_names.h"
#include "write/tree.h"

/* ---- names --------------------------------------------------------------- */

/* Names become parts of C identifiers. */
static bool is_identifier(const char *name)
{
    if (!*name || isdigit((unsigned char)*name))
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

/* Symbols are PACK__MODULE, and must come apart again: "a_" and "b" may not
 * meet "a" and "_b". */
static bool is_pack_name(const char *name)
{
    if (!is_identifier(name)) {
        fprintf(stderr, "kpack-gen: pack name '%s' is no C identifier\n", name);
        return false;
    }
    if (strstr(name, "__") || name[strlen(name) - 1] == '_') {
        fprintf(stderr,
                "kpack-gen: pack name '%s' has two '_' in a row or one at its "
                "end; they part a pack's name from a module's\n",
                name);
        return false;
    }
    return true;
}

static bool is_module_name(const char *name)
{
    if (!is_identifier(name)) {
        fprintf(stderr, "kpack-gen: module name '%s' is no C identifier\n",
                name);
        return false;
    }
    if (*name == '_') {
        fprintf(stderr,
                "kpack-gen: module name '%s' begins with '_', which parts a "
                "pack's name from a module's\n",
                name);
        return false;
    }
    return true;
}

/* ---- module -------------------------------------------------------------- */

struct job {
    const char *pack, *module; /* module: "" for a whole pack */
    const char *out;           /* a file or a folder */
    char **words;
    size_t nwords;
};

static bool write_tables(const struct job *job, const struct build *b)
{
    struct output out;

    if (!output_open(&out, "%s/gen/%s.c", job->out, job->module))
        return false;
    part_write(out.f, NULL, &b->part);
    return output_close(&out, true);
}

static bool write_kernels(const struct job *job, const struct build *b)
{
    struct output out;

    if (!output_open(&out, "%s/gen/%s.kernels", job->out, job->module))
        return false;
    pack_write_kernels(out.f, b->reference);
    return output_close(&out, true);
}

static bool write_heads(const struct job *job, const struct build *b)
{
    struct output out;

    for (size_t i = 0; i < b->nobjects; i++) {
        const struct codeobj *co = b->objects[i];

        if (!output_open(&out, "%s/blob/%s/%s.head", job->out, co->target,
                         job->module))
            return false;
        blob_write_plain_head(out.f, job->pack, job->module, co);
        if (!output_close(&out, true))
            return false;
    }
    return true;
}

static bool write_launchers(const struct job *job, const struct build *b)
{
    const struct launchers_input in = {
        .pack = job->pack,
        .module = job->module,
        .object = b->reference,
        .ir = b->ir,
        .types = b->types,
        .aliases = b->aliases,
        .taken = (const char *const *)b->taken,
        .ntaken = b->ntaken,
    };
    struct launchers *launchers = launchers_new(&in);
    struct output out;
    bool ok = launchers && output_open(&out, "%s/include/kpack/%s/%s.h",
                                       job->out, job->pack, job->module);

    if (ok) {
        launchers_write(out.f, launchers);
        ok = output_close(&out, true);
    }
    ok = ok && output_open(&out, "%s/rust/%s/%s.rs", job->out, job->pack,
                           job->module);
    if (ok) {
        rust_write_module(out.f, launchers);
        ok = output_close(&out, true);
    }
    launchers_free(launchers);
    return ok;
}

static bool make_module(const struct job *job)
{
    struct build b = {.pack = job->pack, .module = job->module};
    const bool ok = build_read(&b, job->words, job->nwords) &&
                    write_tables(job, &b) && write_kernels(job, &b) &&
                    write_heads(job, &b) && write_launchers(job, &b);

    build_free(&b);
    return ok;
}

/* ---- pack ---------------------------------------------------------------- */

/* Reads make_module()'s list of a module's kernels; NULL if the file cannot be
 * read. */
static char *read_list(const char *path)
{
    char error[FILE_ERROR_MAX];
    unsigned char *text;
    size_t nbytes;

    if (file_read(path, (size_t)1 << 30, &text, &nbytes, error))
        return (char *)text;
    fprintf(stderr, "%s: %s\n", path, error);
    return NULL;
}

static bool read_lists(const struct job *job, char **lists)
{
    for (size_t i = 0; i < job->nwords; i++) {
        char *path = alloc_text("%s/gen/%s.kernels", job->out, job->words[i]);

        lists[i] = read_list(path);
        free(path);
        if (!lists[i])
            return false;
    }
    return true;
}

static bool write_header(const struct job *job, const char *path,
                         char *const *modules, char *const *lists)
{
    struct output out;

    if (!output_open(&out, "%s", path))
        return false;
    pack_write_header(out.f, job->pack, modules, lists, job->nwords);
    return output_close(&out, true);
}

static bool write_pack(const struct job *job, char *const *lists)
{
    struct pack_module *modules = alloc_new(job->nwords, sizeof(*modules));
    struct pack_part *parts = alloc_new(job->nwords, sizeof(*parts));
    struct output out;
    char *header;
    bool ok;

    for (size_t i = 0; i < job->nwords; i++) {
        modules[i] = (struct pack_module){.name = job->words[i]};
        parts[i] = (struct pack_part){.pack = job->pack,
                                      .name = job->words[i],
                                      .modules = &modules[i],
                                      .nmodules = 1};
    }
    ok = output_open(&out, "%s/gen/pack.c", job->out);
    if (ok) {
        record_write_top(out.f, "pack", job->pack);
        pack_write_table(out.f, job->pack, job->pack, parts, job->nwords);
        ok = output_close(&out, true);
    }
    header = alloc_text("%s/include/kpack/%s.h", job->out, job->pack);
    ok = ok && write_header(job, header, job->words, lists);
    free(header);
    ok = ok &&
         output_open(&out, "%s/include/kpack/%s_launch.h", job->out, job->pack);
    if (ok) {
        pack_write_launchers(out.f, job->pack, job->words, job->nwords);
        ok = output_close(&out, true);
    }
    ok = ok && output_open(&out, "%s/rust/%s.rs", job->out, job->pack);
    if (ok) {
        rust_write_pack(out.f, job->pack, job->words, job->nwords);
        ok = output_close(&out, true);
    }
    free(modules);
    free(parts);
    return ok;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool make_pack(const struct job *job)
{
    char **lists = alloc_new(job->nwords, sizeof(char *));
    bool ok = true;

    qsort(job->words, job->nwords, sizeof(char *), by_text);
    for (size_t i = 0; ok && i < job->nwords; i++) {
        ok = is_module_name(job->words[i]);
        if (i && strcmp(job->words[i - 1], job->words[i]) == 0) {
            fprintf(stderr, "kpack-gen: %s is given twice\n", job->words[i]);
            ok = false;
        }
    }
    ok = ok && read_lists(job, lists) && write_pack(job, lists);
    for (size_t i = 0; i < job->nwords; i++)
        free(lists[i]);
    free(lists);
    return ok;
}

/* The words are lists; a module has the name of its list's file. */
static bool make_header(const struct job *job)
{
    char **modules = alloc_new(job->nwords, sizeof(char *));
    char **lists = alloc_new(job->nwords, sizeof(char *));
    bool ok = true;

    qsort(job->words, job->nwords, sizeof(char *), by_text);
    for (size_t i = 0; ok && i < job->nwords; i++) {
        const char *base = file_name(job->words[i]);

        modules[i] = alloc_text("%.*s", (int)strcspn(base, "."), base);
        lists[i] = read_list(job->words[i]);
        ok = is_module_name(modules[i]) && lists[i];
    }
    ok = ok && write_header(job, job->out, modules, lists);
    for (size_t i = 0; i < job->nwords; i++) {
        free(modules[i]);
        free(lists[i]);
    }
    free(modules);
    free(lists);
    return ok;
}

/* ---- the others ---------------------------------------------------------- */

static bool make_second_names(const struct job *job)
{
    char error[SECOND_NAMES_ERROR_MAX] =
        "kpack-gen: second-names takes OBJECT.o and ALIASES.csv";
    struct csv *rules = NULL;
    struct output out;
    bool ok = false;

    if (job->nwords == 2)
        rules = csv_read(job->words[1], error);
    if (!rules)
        fprintf(stderr, "%s\n", error);
    if (rules && output_open(&out, "%s", job->out)) {
        ok =
            second_names_write(out.f, job->words[0], job->module, rules, error);
        if (!ok)
            fprintf(stderr, "%s\n", error);
        ok = output_close(&out, ok);
    }
    csv_free(rules);
    return ok;
}

/* An import's memory lives as long as the command. */
static bool make_import(const struct job *job)
{
    struct import in = {.pack = job->pack, .root = job->words[0]};
    const struct pack_part *parts;
    size_t n;

    if (!import_tree(&in))
        return false;
    parts = import_parts(&in, &n);
    return tree_write(job->out, job->pack, parts, n);
}

static const struct action {
    const char *name;
    bool (*run)(const struct job *job);
    bool has_module; /* takes PACK.MODULE, not PACK */
} actions[] = {
    {"module", make_module, true},  {"pack", make_pack, false},
    {"header", make_header, false}, {"second-names", make_second_names, true},
    {"import", make_import, false},
};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

/* Cuts PACK.MODULE at the dot and returns MODULE; "" without a dot. */
static const char *split_name(char *name)
{
    char *dot = strchr(name, '.');

    if (!dot)
        return "";
    *dot = '\0';
    return dot + 1;
}

static bool names_are_good(const struct job *job, const struct action *action)
{
    if (!is_pack_name(job->pack))
        return false;
    if (action->has_module)
        return is_module_name(job->module);
    if (*job->module) {
        fprintf(stderr, "kpack-gen: %s is about a whole pack, not about %s\n",
                action->name, job->module);
        return false;
    }
    return true;
}

static int usage(void)
{
    fputs("usage: kpack-gen module PACK.MODULE FOLDER TARGET=FILE... "
          "[table=FILE.csv...]\n"
          "                        [ir=FILE.ll] [types=FILE.csv] "
          "[aliases=FILE.csv] [taken=HEADER...]\n"
          "       kpack-gen pack   PACK FOLDER MODULE...\n"
          "       kpack-gen header PACK OUT MODULE.kernels...\n"
          "       kpack-gen second-names PACK.MODULE OUT OBJECT.o ALIASES.csv\n"
          "       kpack-gen import PACK FOLDER DIR\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const struct action *action = argc > 4 ? find_action(argv[1]) : NULL;
    struct job job;

    if (!action)
        return usage();
    job.pack = argv[2];
    job.module = split_name(argv[2]);
    job.out = argv[3];
    job.words = argv + 4;
    job.nwords = (size_t)argc - 4;
    return names_are_good(&job, action) && action->run(&job) ? 0 : 1;
}
