/* import_scan.c - finds a tree's files, and parses their paths */
#include "pack/import_scan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/target_id.h"
#include "pack/import_file.h"
#include "pack/import_library.h"
#include "pack/import_triton.h"
#include "util/alloc_or_exit.h"
#include "util/file.h"

/* Deeper than any tree of kernels. The walk does not enter linked folders. */
#define DEPTH_MAX 32
#define FILES_MAX 1000000u

struct walk {
    struct import *in;
    char **paths; /* relative to the root */
    size_t n;
};

static const char *extension(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && dot != name ? dot : name + strlen(name);
}

static bool is_table(const char *name)
{
    return strcmp(extension(name), ".csv") == 0;
}

static void add_entry(struct walk *w, const char *folder, const char *name,
                      int depth);

static void walk_folder(struct walk *w, const char *folder, int depth)
{
    char *path = alloc_text("%s%s%s", w->in->root, *folder ? "/" : "", folder);
    DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
    const struct dirent *entry;

    if (!dir)
        import_bad(w->in, path, "%s",
                   depth < DEPTH_MAX ? strerror(errno) : "too deep a folder");
    while (dir && (errno = 0, entry = readdir(dir)))
        if (entry->d_name[0] != '.' || strcmp(entry->d_name, ".kpack") == 0)
            add_entry(w, folder, entry->d_name, depth);
    if (dir && errno)
        import_bad(w->in, path, "%s", strerror(errno));
    if (dir)
        closedir(dir);
    free(path);
}

/* Whether a link leads to a place outside the tree, whose files are nobody's
 * business here. */
static bool leads_out(const struct walk *w, const char *path)
{
    char *real = realpath(path, NULL);
    const bool out = !real || !import_is_inside(w->in, real);

    free(real);
    return out;
}

/* The name of an entry that is neither file nor folder. */
static const char *kind_of(mode_t mode)
{
    return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
}

static void add_entry(struct walk *w, const char *folder, const char *name,
                      int depth)
{
    char *relative = alloc_text("%s%s%s", folder, *folder ? "/" : "", name);
    char *path = alloc_text("%s/%s", w->in->root, relative);
    struct stat here, there;

    if (lstat(path, &here) != 0 || stat(path, &there) != 0) {
        import_bad(w->in, path, "%s", strerror(errno));
    } else if (S_ISDIR(here.st_mode)) {
        walk_folder(w, relative, depth + 1);
    } else if (S_ISDIR(there.st_mode)) {
        ; /* a link to a folder, which is not followed */
    } else if (S_ISLNK(here.st_mode) && leads_out(w, path)) {
        import_bad(w->in, path,
                   "a link that leads out of the tree; put a copy of the file "
                   "in its place");
    } else if (S_ISREG(there.st_mode)) {
        if (w->n == FILES_MAX)
            import_bad(w->in, path, "more than %u files", FILES_MAX);
        w->paths = alloc_grow(w->paths, w->n, sizeof(*w->paths));
        w->paths[w->n++] = relative;
        relative = NULL;
    } else if (import_ending_of(name) || is_table(name)) {
        import_bad(w->in, path, "%s, not a file; remove it or rename it",
                   kind_of(there.st_mode));
    }
    free(relative);
    free(path);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether a name looks like a target: "gfx" and a digit, or a target of NVIDIA.
 */
static bool looks_like_target(const char *name)
{
    return (strncmp(name, "gfx", 3) == 0 && name[3] >= '0' && name[3] <= '9') ||
           target_is_nvidia(name);
}

/* Takes a target ID off the end of a file's name, as of x-gfx942, x.sm_90. */
static const char *take_suffix(char *base)
{
    for (char *c = base; *c; c++)
        if (c > base && strchr("-._", *c) &&
            (target_is_amd(c + 1) || target_is_nvidia(c + 1))) {
            *c = '\0';
            return c + 1;
        }
    return "";
}

/* Joins the folder's components, without the first label. The kind ends with
 * the component behind the label; without a label it is the first component. */
static void split_folder(const char *relative, struct import_place *place)
{
    char *rest = alloc_text("%s", relative);
    char *folder = alloc_text("%s", ""), *kind = NULL;
    char *slash;

    place->label = "";
    for (char *part = rest; (slash = strchr(part, '/')); part = slash + 1) {
        char *longer;

        *slash = '\0';
        if (!*place->label && looks_like_target(part)) {
            place->label = part;
            kind = NULL; /* folders before the label belong to the label */
            continue;
        }
        longer = alloc_text("%s%s%s", folder, *folder ? "/" : "", part);
        free(folder);
        folder = longer;
        if (!kind)
            kind = alloc_text("%s", folder);
    }
    place->folder = folder;
    place->kind = kind ? kind : folder;
}

static void find_place(const struct import *in, const char *relative,
                       struct import_place *place)
{
    const char *name = file_name(relative);
    char *base = alloc_text("%.*s", (int)(extension(name) - name), name);

    split_folder(relative, place);
    if (!*place->label)
        place->label = take_suffix(base);
    place->file = alloc_text("%s/%s", in->root, relative);
    place->path =
        alloc_text("%s%s%s", place->folder, *place->folder ? "/" : "", name);
    place->module =
        alloc_text("%s%s%s", place->folder, *place->folder ? "/" : "", base);
}

static void read_csv(struct import *in, const struct import_place *place)
{
    char error[CSV_ERROR_MAX];
    struct csv *csv = csv_read(place->file, error);

    if (!csv) { /* the message names the file and the line */
        fprintf(stderr, "%s\n", error);
        in->nbad++;
        return;
    }
    in->csvs = alloc_grow(in->csvs, in->ncsvs, sizeof(*in->csvs));
    in->csvs[in->ncsvs++] = (struct import_csv){.place = *place, .csv = csv};
}

static int object_order(const void *a, const void *b)
{
    const struct import_object *x = a, *y = b;
    int order = strcmp(x->place.path, y->place.path);

    if (order == 0)
        order = strcmp(x->place.label, y->place.label);
    if (order == 0)
        order = strcmp(x->place.module, y->place.module);
    return order ? order : strcmp(x->object.co->target, y->object.co->target);
}

static int csv_order(const void *a, const void *b)
{
    const struct import_csv *x = a, *y = b;
    int order = strcmp(x->place.path, y->place.path);

    return order ? order : strcmp(x->place.label, y->place.label);
}

/* The number of the path that is stem and ending; w->n if the tree lacks it. */
static size_t find_path(const struct walk *w, const char *stem, size_t n,
                        const char *ending)
{
    char *wanted = alloc_text("%.*s%s", (int)n, stem, ending);
    char **found = bsearch(&wanted, w->paths, w->n, sizeof(*w->paths), by_text);

    free(wanted);
    return found ? (size_t)(found - w->paths) : w->n;
}

/* For a file without a name of code: the file beside it with one, by their
 * names: x.co for x.co.orig, x.bak or x. NULL without such a file. */
static const char *find_original(const struct walk *w, const char *path)
{
    const char *name = file_name(path);
    size_t first = w->n;

    if (import_ending_of(path))
        return NULL;
    for (const char *end = name + 1; first == w->n; end++) {
        if (strchr(".~", *end)) /* the name's own end, too */
            for (size_t i = 0; import_endings[i].text; i++) {
                const size_t found = find_path(w, path, (size_t)(end - path),
                                               import_endings[i].text);

                first = found < first ? found : first;
            }
        if (!*end)
            break;
    }
    return first < w->n ? file_name(w->paths[first]) : NULL;
}

/* Triton leaves NAME.json beside NAME.hsaco. */
static void find_triton(const struct walk *w, const char *path,
                        struct import_object *object)
{
    const size_t stem = strlen(path) - strlen(extension(file_name(path)));
    const size_t found = find_path(w, path, stem, ".json");
    char *file;

    if (found == w->n)
        return;
    file = alloc_text("%s/%s", w->in->root, w->paths[found]);
    import_triton(w->in, object, file);
    free(file);
}

void import_scan(struct import *in)
{
    char *real_root = realpath(in->root, NULL);
    struct walk w = {.in = in};

    if (!real_root && errno == ENOMEM)
        alloc_none();
    in->real_root = real_root ? real_root : "/";
    walk_folder(&w, "", 0);
    if (w.n)
        qsort(w.paths, w.n, sizeof(*w.paths), by_text);
    for (size_t i = 0; i < w.n; i++) {
        const size_t first = in->nobjects;
        struct import_place place;

        find_place(in, w.paths[i], &place);
        if (is_table(file_name(w.paths[i])))
            read_csv(in, &place);
        else
            import_file(in, &place, find_original(&w, w.paths[i]));
        if (in->nobjects == first + 1)
            find_triton(&w, w.paths[i], &in->objects[first]);
    }
    import_libraries(in);
    in->real_root = NULL;
    for (size_t i = 0; i < w.n; i++)
        free(w.paths[i]);
    free(w.paths);
    free(real_root);
    if (in->nobjects)
        qsort(in->objects, in->nobjects, sizeof(*in->objects), object_order);
    if (in->ncsvs)
        qsort(in->csvs, in->ncsvs, sizeof(*in->csvs), csv_order);
    if (in->nobjects == 0 && in->nbad == 0)
        import_bad(in, in->root, "no code object in it");
}
