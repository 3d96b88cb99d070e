/* output.c - a file that appears complete or not at all */
#include "util/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/alloc_or_exit.h"

/* Makes the folders of a file, as mkdir -p does. */
static void make_folders(char *path)
{
    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            (void)mkdir(path,
                        0777); /* opening the file will report the failure */
            *c = '/';
        }
}

/* Open outputs. A command that exits removes their temporary files, so that no
 * half file stays. */
static struct output *unfinished;

static void remove_unfinished(void)
{
    for (const struct output *out = unfinished; out; out = out->next)
        (void)remove(out->temporary);
}

static void finished(const struct output *out)
{
    struct output **at = &unfinished;

    while (*at != out)
        at = &(*at)->next;
    *at = out->next;
}

bool output_open(struct output *out, const char *format, ...)
{
    static bool registered;

    va_list args;

    va_start(args, format);
    out->path = alloc_vtext(format, args);
    va_end(args);
    out->temporary = alloc_text("%s.tmp", out->path);
    make_folders(out->path);
    out->f = fopen(out->temporary, "wb");
    if (out->f) {
        if (!registered)
            registered = atexit(remove_unfinished) == 0;
        out->next = unfinished;
        unfinished = out;
        return true;
    }
    fprintf(stderr, "%s: %s\n", out->temporary, strerror(errno));
    free(out->path);
    free(out->temporary);
    return false;
}

static bool same_content(const char *a, const char *b)
{
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    char x[16384], y[sizeof(x)];
    size_t n = sizeof(x);
    bool same = f && g;

    while (same && n == sizeof(x)) {
        n = fread(x, 1, sizeof(x), f);
        same = fread(y, 1, sizeof(y), g) == n && memcmp(x, y, n) == 0 &&
               !ferror(f) && !ferror(g);
    }
    if (f)
        (void)fclose(f);
    if (g)
        (void)fclose(g);
    return same;
}

bool output_close(struct output *out, bool ok)
{
    const bool written = !ferror(out->f);
    bool same;

    if ((fclose(out->f) != 0 || !written) && ok) {
        fprintf(stderr, "%s: %s\n", out->temporary, strerror(errno));
        ok = false;
    }
    same = ok && same_content(out->temporary, out->path);
    if (ok && !same) {
        if (rename(out->temporary, out->path) != 0) {
            fprintf(stderr, "%s: %s\n", out->path, strerror(errno));
            ok = false;
        }
    }
    if (!ok || same)
        (void)remove(out->temporary);
    finished(out);
    free(out->path);
    free(out->temporary);
    return ok;
}
