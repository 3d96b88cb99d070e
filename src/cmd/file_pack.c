/* file_pack.c - the packs in a file, for commands that look into a pack
 *
 * The command cannot find a program's tables, but it finds its code objects,
 * whose metadata has kernels' names, arguments and limits. From these it makes
 * tables like those of its own pack, so that every command treats both alike.
 * Two things are only in the program's tables and missing here: names that a
 * module gives its kernels, and configuration tables.
 *
 * Everything is kept until the command ends.
 */
#include "file_pack.h"
#include "exit_status.h"
#include "objects.h"
#include "own_pack.h"
#include "search.h"
#include "xmalloc.h"

#include "base/codeobj_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A code object of the file, and its parsed metadata. */
struct object {
    const struct found *found;
    struct codeobj *code;
};

/* The memory behind the pack's tables; only this points to it. */
static struct {
    struct scan scan;
    const struct found **list;
    struct object *objects; /* by module, pack and target */
    kpk_pack pack;
    kpk_module *modules;
    const kpk_module **pointers;
} file;

static int by_module(const void *a, const void *b)
{
    const struct object *x = a;
    const struct object *y = b;
    int order = strcmp(x->found->module, y->found->module);

    if (!order)
        order = strcmp(x->found->pack, y->found->pack);
    if (!order)
        order = strcmp(x->found->target, y->found->target);
    if (!order) /* copies: in the order of the file */
        order = x->found->at < y->found->at ? -1 : 1;
    return order;
}

static bool same_module(const struct object *a, const struct object *b)
{
    return objects_same_module(a->found, b->found);
}

/* A program can hold a pack twice. */
static bool is_copy(const struct object *a, const struct object *b)
{
    return same_module(a, b) &&
           strcmp(a->found->target, b->found->target) == 0 &&
           memcmp(a->found->head.sha256, b->found->head.sha256, 32) == 0;
}

/* Why the code cannot be read; NULL, and *out set, if it can. */
static const char *read_code(const struct found *found, struct codeobj **out)
{
    static char error[CODEOBJ_ERROR_MAX];
    unsigned char *bytes = NULL;
    const char *fault = scan_content(&file.scan, found, &bytes);

    if (fault)
        return fault;
    *out =
        codeobj_parse(file.scan.path, bytes, (size_t)found->head.nbytes, error);
    free(bytes);
    return *out ? NULL : error;
}

/* Reads the code objects that were found, and drops copies. Returns how many
 * are left. If one cannot be read, prints a sentence and sets *sound to false.
 */
static size_t read_objects(size_t nfound, bool *sound)
{
    size_t n = 0;

    file.objects = cmd_calloc(nfound, sizeof(*file.objects));
    for (size_t i = 0; i < nfound; i++)
        file.objects[i].found = file.list[i];
    qsort(file.objects, nfound, sizeof(*file.objects), by_module);
    for (size_t i = 0; i < nfound; i++) {
        struct object *object = &file.objects[n];
        const char *fault;

        *object = (struct object){file.objects[i].found, NULL};
        if (n && is_copy(object, object - 1))
            continue;
        fault = read_code(object->found, &object->code);
        if (!fault) {
            n++;
            continue;
        }
        *sound = false;
        (void)fprintf(stderr, "kpack: %s: module %s for %s: %s\n",
                      file.scan.path, object->found->module,
                      object->found->target, fault);
    }
    return n;
}

/* ---- one module's tables ------------------------------------------------ */

struct strings {
    char *text;
    size_t nbytes, room;
};

static uint32_t add_string(struct strings *s, const char *text)
{
    const size_t n = strlen(text) + 1;
    const size_t at = s->nbytes;

    if (n > s->room - at) {
        s->room = 2 * (s->room + n);
        s->text = cmd_realloc(s->text, s->room);
    }
    memcpy(s->text + at, text, n);
    s->nbytes += n;
    return (uint32_t)at;
}

/* A kernel of a module, as one of its code objects describes it. */
struct described {
    const struct codeobj_kernel *kernel;
    bool nvidia; /* cubins have no names and kinds of arguments */
};

static int by_name(const void *a, const void *b)
{
    const struct described *x = a;
    const struct described *y = b;
    const int order = strcmp(x->kernel->name, y->kernel->name);

    return order ? order : (int)x->nvidia - (int)y->nvidia;
}

/* The kernels of all code objects, each once, by name; their number in *n. */
static struct described *list_kernels(const struct object *objects,
                                      size_t nobjects, size_t *n)
{
    struct described *list;
    size_t all = 0;

    for (size_t i = 0; i < nobjects; i++)
        all += objects[i].code->nkernels;
    list = cmd_calloc(all, sizeof(*list));
    for (size_t i = 0, to = 0; i < nobjects; i++) {
        const struct codeobj *code = objects[i].code;

        for (size_t k = 0; k < code->nkernels; k++)
            list[to++] =
                (struct described){&code->kernels[k], codeobj_is_nvidia(code)};
    }
    qsort(list, all, sizeof(*list), by_name);
    *n = 0;
    for (size_t i = 0; i < all; i++)
        if (i == 0 ||
            strcmp(list[i].kernel->name, list[*n - 1].kernel->name) != 0)
            list[(*n)++] = list[i];
    return list;
}

static void describe_kernels(kpk_module *module, const struct described *list,
                             size_t n, struct strings *strings)
{
    struct kpk_kernel_desc *descs = cmd_calloc(n, sizeof(*descs));
    struct kpk_arg_desc *args;
    size_t nargs = 0;

    for (size_t i = 0; i < n; i++)
        nargs += list[i].kernel->nargs;
    args = cmd_calloc(nargs, sizeof(*args));
    module->kernels = descs;
    module->args = args;
    module->nkernels = (uint32_t)n;
    nargs = 0;
    for (size_t i = 0; i < n; i++) {
        const struct codeobj_kernel *k = list[i].kernel;

        descs[i] = (struct kpk_kernel_desc){add_string(strings, k->name),
                                            (uint32_t)nargs, (uint32_t)k->nargs,
                                            codeobj_packed_nbytes(k)};
        for (size_t a = 0; a < k->nargs; a++)
            args[nargs++] = (struct kpk_arg_desc){
                add_string(strings, k->args[a].name), k->args[a].offset,
                k->args[a].size, k->args[a].kind};
    }
}

/* The attributes of each kernel in one code object; zeros for kernels that the
 * code object does not have. */
static struct kpk_kernel_attrs *
list_attrs(const struct codeobj *code, const struct described *list, size_t n)
{
    struct kpk_kernel_attrs *attrs = cmd_calloc(n, sizeof(*attrs));

    for (size_t i = 0; i < n; i++) {
        const char *name = list[i].kernel->name;
        const struct codeobj_kernel *k = codeobj_find(code, name, strlen(name));

        if (k)
            attrs[i] = k->attrs;
    }
    return attrs;
}

static void make_module(kpk_module *out, const struct object *objects, size_t n)
{
    struct strings strings = {NULL, 0, 0};
    struct kpk_code_object *rows = cmd_calloc(n, sizeof(*rows));
    struct described *list;
    size_t nkernels;

    (void)add_string(&strings, ""); /* names that are not known are at 0 */
    list = list_kernels(objects, n, &nkernels);
    *out = (kpk_module){.format = KPK_FORMAT_VERSION,
                        .name = add_string(&strings, objects->found->module),
                        .objects = rows,
                        .nobjects = (uint32_t)n};
    describe_kernels(out, list, nkernels, &strings);
    for (size_t i = 0; i < n; i++) {
        const struct found *found = objects[i].found;

        rows[i].target = add_string(&strings, found->target);
        rows[i].cov = found->head.cov;
        rows[i].blob = &found->head;
        rows[i].attrs = list_attrs(objects[i].code, list, nkernels);
        memcpy(rows[i].sha256, found->head.sha256, sizeof(rows[i].sha256));
    }
    out->strings = strings.text;
    free(list);
}

static void make_pack(size_t n)
{
    size_t nmodules = 0;
    size_t next;

    file.modules = cmd_calloc(n, sizeof(*file.modules));
    file.pointers = cmd_calloc(n, sizeof(*file.pointers));
    for (size_t i = 0; i < n; i = next) {
        next = i + 1;
        while (next < n && same_module(&file.objects[i], &file.objects[next]))
            next++;
        make_module(&file.modules[nmodules], file.objects + i, next - i);
        file.pointers[nmodules] = &file.modules[nmodules];
        nmodules++;
    }
    file.pack = (kpk_pack){.format = KPK_FORMAT_VERSION,
                           .nmodules = (uint32_t)nmodules,
                           .name = file.objects->found->pack,
                           .modules = file.pointers};
}

int cmd_on_file(const char *path, int (*run)(const struct options *),
                const struct options *options)
{
    bool sound;
    size_t n;
    int status;

    sound = search_file(path, &file.scan);
    if (!file.scan.n)
        return EXIT_NO;
    file.list = objects_sorted(&file.scan, &n);
    sound = objects_print_faults(&file.scan) == 0 && sound;
    n = read_objects(n, &sound);
    if (!n)
        return EXIT_NO;
    make_pack(n);
    cmd_pack = &file.pack;
    cmd_pack_path = path;
    status = run(options);
    return sound || status != EXIT_DONE ? status : EXIT_NO;
}
