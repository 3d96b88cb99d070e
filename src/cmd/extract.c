/* extract.c - kpack extract: writes one code object to a file */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The object of exactly that target ID, else the one that a device of that
 * target ID would run, which is said. */
static kpk_status find(const kpk_module *module, const char *target,
                       kpk_object *out)
{
    kpk_selection selection;
    size_t i;
    kpk_status st = kpk_module_find_object(module, target, &i);

    if (st != KPK_OK) {
        st = kpk_select(module, target, &selection);
        if (st != KPK_OK)
            return st;
        i = selection.object;
        (void)fprintf(stderr, "kpack: taking %s (%s)\n", selection.target,
                      selection.why);
    }
    return kpk_module_object(module, i, out);
}

static int write_failed(const char *name)
{
    (void)fprintf(stderr, "kpack: cannot write %s: %s\n", name,
                  strerror(errno));
    return EXIT_NO_OUTPUT;
}

static int write_file(const char *name, const kpk_object *object)
{
    FILE *file = fopen(name, "wb");
    bool written;
    int why;

    if (!file)
        return write_failed(name);
    written = fwrite(object->data, 1, object->nbytes, file) == object->nbytes;
    why = errno;
    if (fclose(file) == 0 && written) /* a full disk may show only now */
        return EXIT_DONE;
    if (!written)
        errno = why;
    (void)write_failed(name);
    /* Half a code object is worse than none; devices are left alone. */
    if (strncmp(name, "/dev/", 5) != 0)
        (void)remove(name);
    return EXIT_NO_OUTPUT;
}

int cmd_extract(const struct options *options)
{
    const kpk_module *module = cmd_find_module(options->words[0]);
    kpk_object object;
    char name[512];
    kpk_status st;

    if (!module)
        return EXIT_NO;
    st = find(module, options->words[1], &object);
    if (st != KPK_OK)
        return cmd_failed(st);
    if (options->output && strcmp(options->output, "-") == 0) {
        /* main() reports a failing standard output */
        (void)fwrite(object.data, 1, object.nbytes, stdout);
        return EXIT_DONE;
    }
    if (options->output)
        return write_file(options->output, &object);
    (void)snprintf(name, sizeof(name), "%s-%s.hsaco", kpk_module_name(module),
                   object.target);
    return write_file(name, &object);
}
