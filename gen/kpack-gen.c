/* kpack-gen.c - the command: code objects in, C tables and headers out
 *
 *   kpack-gen module PACK.MODULE OUT TARGET=FILE... [table=FILE.csv...]
 *                                              the table of a module
 *   kpack-gen pack   PACK OUT MODULE...        the table of a pack
 *   kpack-gen header PACK OUT MODULE=FILE...   the header of a pack
 *   kpack-gen launchers PACK.MODULE OUT object=FILE [ir=FILE] [types=FILE.csv]
 *                       [aliases=FILE.csv] [taken=HEADER...]
 *                                              a module's typed launchers
 *   kpack-gen head   PACK OUT MODULE=FILE      what stands before a code
 *                                              object in the program
 *   kpack-gen second-names PACK.MODULE OUT OBJECT.o ALIASES.csv
 *                                              an object whose kernels have
 *                                              second names, too
 *   kpack-gen import PACK OUTFOLDER DIR        a pack of a tree of prebuilt
 *                                              code objects (import.h)
 *
 * Silent on success. What is wrong is said as `FILE: what`, with status 1; a
 * wrong command line is status 2. OUT appears complete or not at all; a header
 * that would not change is left as it is, with its time.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/import.h"
#include "write/blob.h"
#include "write/launchers.h"
#include "write/second_names.h"
#include "write/tables.h"

/* KEY=FILE of the command line, and the file's content. */
struct input {
    char *key;
    struct codeobj *object;
    const char *csv; /* of a word table=FILE.csv, which has no object */
};

struct job {
    char *pack;
    char *module; /* "" unless the action is about one */
    const char *out;
    size_t n;
    size_t nconfigs;
    struct config_table **configs; /* sorted by name */
    char **keys;                   /* targets or modules, sorted */
    struct codeobj **objects;      /* one for each key; NULL for a pack */
    char **words;                  /* the command line's, [nwords] */
    size_t nwords;
};

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

/* Configuration tables come behind the code objects. */
static int by_key(const void *a, const void *b)
{
    const struct input *x = a, *y = b;

    if (!x->csv != !y->csv)
        return x->csv ? 1 : -1;
    return strcmp(x->csv ? x->csv : x->key, y->csv ? y->csv : y->key);
}

static bool read_input(struct input *in, const char *word, bool has_file)
{
    const char *sign = strchr(word, '=');
    char error[CODEOBJ_ERROR_MAX];

    if (has_file != (sign != NULL)) {
        fprintf(stderr, "kpack-gen: '%s' is not %s\n", word,
                has_file ? "KEY=FILE" : "a module's name");
        return false;
    }
    in->key = sign ? strndup(word, (size_t)(sign - word)) : strdup(word);
    if (!in->key) {
        fputs("kpack-gen: out of memory\n", stderr);
        return false;
    }
    if (!sign)
        return true;
    if (strcmp(in->key, "table") == 0) {
        in->csv = sign + 1;
        return true;
    }
    in->object = codeobj_read(sign + 1, error);
    if (!in->object)
        fprintf(stderr, "%s: %s\n", sign + 1, error);
    return in->object != NULL;
}

static bool read_inputs(struct job *job, struct input *inputs, char **words,
                        bool has_file)
{
    for (size_t i = 0; i < job->n; i++)
        if (!read_input(&inputs[i], words[i], has_file))
            return false;
    qsort(inputs, job->n, sizeof(*inputs), by_key);
    while (job->n && inputs[job->n - 1].csv) {
        job->n--;
        job->nconfigs++;
    }
    for (size_t i = 0; i < job->n; i++) {
        job->keys[i] = inputs[i].key;
        job->objects[i] = inputs[i].object;
        if (i && strcmp(job->keys[i - 1], job->keys[i]) == 0) {
            fprintf(stderr, "kpack-gen: %s is given twice\n", job->keys[i]);
            return false;
        }
    }
    return true;
}

/* The CSV files, behind the code objects that they are checked against. */
static bool read_configs(struct job *job, const struct input *inputs)
{
    char error[CSV_ERROR_MAX];

    if (job->nconfigs && job->n == 0) {
        fputs("kpack-gen: tables, but no code object\n", stderr);
        return false;
    }
    for (size_t i = 0; i < job->nconfigs; i++) {
        job->configs[i] =
            config_table_read(inputs[job->n + i].csv, job->objects[0], error);
        if (!job->configs[i]) {
            fprintf(stderr, "%s\n", error);
            return false;
        }
    }
    return true;
}

static bool write_module(FILE *f, const struct job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (strcmp(job->objects[i]->target, job->keys[i]) != 0) {
            fprintf(stderr, "%s: is for %s, not for %s\n",
                    job->objects[i]->path, job->objects[i]->target,
                    job->keys[i]);
            return false;
        }
    if (!tables_agree(job->objects, job->n))
        return false;
    tables_write_module(f, job->pack, job->module, job->objects, job->n,
                        job->configs, job->nconfigs);
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

static bool modules_are_identifiers(const struct job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (!is_module_name(job->keys[i]))
            return false;
    return true;
}

static bool write_pack(FILE *f, const struct job *job)
{
    if (!modules_are_identifiers(job))
        return false;
    tables_write_pack(f, job->pack, job->keys, job->n);
    return true;
}

static bool write_header(FILE *f, const struct job *job)
{
    if (!modules_are_identifiers(job))
        return false;
    tables_write_header(f, job->pack, job->keys, job->objects, job->n);
    return true;
}

static bool write_head(FILE *f, const struct job *job)
{
    const struct codeobj *co = job->objects[0];

    if (job->n != 1) {
        fputs("kpack-gen: a head is for one code object\n", stderr);
        return false;
    }
    if (!modules_are_identifiers(job))
        return false;
    blob_write_head(f, &(struct blob_info){.kind = KPK_BLOB_CODE_OBJECT,
                                           .pack = job->pack,
                                           .module = job->keys[0],
                                           .target = co->target,
                                           .cov = co->cov,
                                           .content = co->data,
                                           .nbytes = co->nbytes,
                                           .codec = KPK_CODEC_NONE,
                                           .stored_nbytes = co->nbytes});
    return true;
}

/* ---- launchers: words of their own ---- */

#define MAX_TAKEN 8

struct launchers_files {
    struct codeobj *object;
    struct ir *ir;
    struct csv *types, *aliases;
    char *taken[MAX_TAKEN];
    size_t ntaken;
};

/* Comments of C become blanks: a name in one is not taken. */
static void blank_comments(char *text)
{
    char *end;

    while ((text = strstr(text, "/*"))) {
        end = strstr(text + 2, "*/");
        end = end ? end + 2 : text + strlen(text);
        memset(text, ' ', (size_t)(end - text));
    }
}

static char *read_text(const char *path, char error[CSV_ERROR_MAX])
{
    unsigned char *text;
    size_t nbytes;
    char why[FILE_ERROR_MAX];

    if (!file_read(path, (size_t)1 << 24, &text, &nbytes, why)) {
        snprintf(error, CSV_ERROR_MAX, "%s: %s", path, why);
        return NULL;
    }
    blank_comments((char *)text);
    return (char *)text;
}

/* One word KEY=FILE; false with the sentence in error. */
static bool read_launchers_word(struct launchers_files *files, const char *word,
                                char error[CSV_ERROR_MAX])
{
    const char *path = strchr(word, '=');
    const size_t n = path ? (size_t)(path - word) : 0;
    char why[CODEOBJ_ERROR_MAX] = "";

    path = path ? path + 1 : "";
    if (n == 6 && strncmp(word, "object", n) == 0 && !files->object) {
        files->object = codeobj_read(path, why);
        snprintf(error, CSV_ERROR_MAX, "%s: %.400s", path, why);
        return files->object != NULL;
    }
    if (n == 2 && strncmp(word, "ir", n) == 0 && !files->ir) {
        files->ir = ir_read(path, why);
        snprintf(error, CSV_ERROR_MAX, "%s: %.400s", path, why);
        return files->ir != NULL;
    }
    if (n == 5 && strncmp(word, "types", n) == 0 && !files->types) {
        files->types = csv_read(path, error);
        if (files->types &&
            csv_column(files->types, "type") < files->types->ncolumns &&
            csv_column(files->types, "host") < files->types->ncolumns)
            return true;
        if (files->types)
            snprintf(error, CSV_ERROR_MAX,
                     "%s: wants the columns type and host, and header if there "
                     "is one",
                     path);
        return false;
    }
    if (n == 7 && strncmp(word, "aliases", n) == 0 && !files->aliases)
        return (files->aliases = csv_read(path, error)) != NULL;
    if (n == 5 && strncmp(word, "taken", n) == 0 && files->ntaken < MAX_TAKEN)
        return (files->taken[files->ntaken++] = read_text(path, error)) != NULL;
    snprintf(error, CSV_ERROR_MAX,
             "kpack-gen: '%s' is not object=, ir=, types=, aliases= or taken=, "
             "or is given twice",
             word);
    return false;
}

static bool write_launchers(FILE *f, const struct job *job)
{
    struct launchers_files files = {0};
    struct launchers_input in = {0};
    char error[CSV_ERROR_MAX] = "kpack-gen: launchers without object=FILE";
    bool ok = true;

    for (size_t i = 0; ok && i < job->nwords; i++)
        ok = read_launchers_word(&files, job->words[i], error);
    if (!ok || !files.object) {
        fprintf(stderr, "%s\n", error);
        ok = false;
    } else {
        in.pack = job->pack;
        in.module = job->module;
        in.object = files.object;
        in.ir = files.ir;
        in.types = files.types;
        in.aliases = files.aliases;
        in.taken = (const char *const *)files.taken;
        in.ntaken = files.ntaken;
        ok = launchers_write(f, &in);
    }
    codeobj_free(files.object);
    ir_free(files.ir);
    csv_free(files.types);
    csv_free(files.aliases);
    for (size_t i = 0; i < files.ntaken; i++)
        free(files.taken[i]);
    return ok;
}

static bool write_second_names(FILE *f, const struct job *job)
{
    char error[SECOND_NAMES_ERROR_MAX] =
        "kpack-gen: second-names takes OBJECT.o and ALIASES.csv";
    struct csv *rules = NULL;
    bool ok;

    if (job->nwords == 2)
        rules = csv_read(job->words[1], error);
    ok = rules &&
         second_names_write(f, job->words[0], job->module, rules, error);
    if (!ok)
        fprintf(stderr, "%s\n", error);
    csv_free(rules);
    return ok;
}

static const struct action {
    const char *name;
    bool (*write)(FILE *f, const struct job *job);
    bool has_module; /* its name is PACK.MODULE */
    bool has_file;
    bool own_words;  /* reads the command line itself */
    bool keeps_same; /* OUT is left alone if it would not change */
} actions[] = {
    {"module", write_module, true, true, false, false},
    {"pack", write_pack, false, false, false, false},
    {"header", write_header, false, true, false, true},
    {"head", write_head, false, true, false, false},
    {"launchers", write_launchers, true, true, true, true},
    {"second-names", write_second_names, true, true, true, false},
};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

/* What stands behind the dot of PACK.MODULE, which is cut there. */
static char *split_name(char *name)
{
    char *dot = strchr(name, '.');

    if (!dot)
        return name + strlen(name);
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

static bool same_content(const char *a, const char *b)
{
    FILE *f = fopen(a, "r"), *g = fopen(b, "r");
    bool same = f && g;
    int c = 0;

    while (same && c != EOF) {
        c = getc(f);
        same = c == getc(g);
    }
    if (f)
        (void)fclose(f);
    if (g)
        (void)fclose(g);
    return same;
}

/* Writes to OUT.tmp and renames, so that a failure leaves no half a file. */
static bool write_out(const struct action *action, const struct job *job)
{
    size_t nbytes = strlen(job->out) + sizeof(".tmp");
    char *temporary = malloc(nbytes);
    FILE *f = NULL;
    bool ok = false;

    if (!temporary) {
        fputs("kpack-gen: out of memory\n", stderr);
        return false;
    }
    snprintf(temporary, nbytes, "%s.tmp", job->out);
    f = fopen(temporary, "w");
    if (f) {
        bool written;

        ok = action->write(f, job);
        written = !ferror(f);
        if ((fclose(f) != 0 || !written) && ok) {
            fprintf(stderr, "%s: %s\n", temporary, strerror(errno));
            ok = false;
        }
        if (ok && action->keeps_same && same_content(temporary, job->out))
            (void)remove(temporary);
        else if (ok && rename(temporary, job->out) != 0) {
            fprintf(stderr, "%s: %s\n", job->out, strerror(errno));
            ok = false;
        }
        if (!ok)
            (void)remove(temporary);
    } else {
        fprintf(stderr, "%s: %s\n", temporary, strerror(errno));
    }
    free(temporary);
    return ok;
}

static int usage(void)
{
    fputs("usage: kpack-gen module PACK.MODULE OUT TARGET=FILE... "
          "[table=FILE.csv...]\n"
          "       kpack-gen pack   PACK OUT MODULE...\n"
          "       kpack-gen header PACK OUT MODULE=FILE...\n"
          "       kpack-gen launchers PACK.MODULE OUT object=FILE [ir=FILE] "
          "[types=FILE.csv]\n"
          "                           [aliases=FILE.csv] [taken=HEADER...]\n"
          "       kpack-gen head   PACK OUT MODULE=FILE\n"
          "       kpack-gen second-names PACK.MODULE OUT OBJECT.o ALIASES.csv\n"
          "       kpack-gen import PACK OUTFOLDER DIR\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const struct action *action = argc > 4 ? find_action(argv[1]) : NULL;
    struct job job = {0};
    struct input *inputs;
    size_t nwords;
    bool ok = false;

    if (argc == 5 && strcmp(argv[1], "import") == 0)
        return is_pack_name(argv[2]) && import_tree(argv[2], argv[3], argv[4])
                   ? 0
                   : 1;
    if (!action)
        return usage();
    job.pack = argv[2];
    job.module = split_name(argv[2]);
    job.out = argv[3];
    job.words = argv + 4;
    job.nwords = (size_t)argc - 4;
    job.n = nwords = action->own_words ? 0 : job.nwords;
    if (!names_are_good(&job, action))
        return 1;
    inputs = calloc(job.n + 1, sizeof(*inputs));
    job.keys = calloc(job.n + 1, sizeof(*job.keys));
    job.objects = calloc(job.n + 1, sizeof(struct codeobj *));
    job.configs = calloc(job.n + 1, sizeof(struct config_table *));
    if (!inputs || !job.keys || !job.objects || !job.configs)
        fputs("kpack-gen: out of memory\n", stderr);
    else
        ok = read_inputs(&job, inputs, argv + 4, action->has_file) &&
             read_configs(&job, inputs) && write_out(action, &job);
    for (size_t i = 0; job.configs && i < job.nconfigs; i++)
        config_table_free(job.configs[i]);
    for (size_t i = 0; inputs && i < nwords; i++) {
        codeobj_free(inputs[i].object);
        free(inputs[i].key);
    }
    free(inputs);
    free(job.keys);
    free(job.objects);
    free(job.configs);
    return ok ? 0 : 1;
}
