/* extract.c - kpack extract: writes one code object of the pack to a file */
#include "cmd.h"
#include "memory.h"

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

int cmd_write_failed(const char *name)
{
    if (errno == ENOMEM)
        cmd_no_memory();
    (void)fprintf(stderr, "kpack: cannot write %s: %s\n", name,
                  strerror(errno));
    return EXIT_NO_OUTPUT;
}

int cmd_write_file(const char *name, const void *data, size_t nbytes)
{
    FILE *file;
    bool written;
    int why;

    if (strcmp(name, "-") == 0) {
        /* main() reports a failing standard output */
        (void)fwrite(data, 1, nbytes, stdout);
        return EXIT_DONE;
    }
    file = fopen(name, "wb");
    if (!file)
        return cmd_write_failed(name);
    written = fwrite(data, 1, nbytes, file) == nbytes;
    why = errno;
    if (fclose(file) == 0 && written) /* a full disk may show only now */
        return EXIT_DONE;
    if (!written)
        errno = why;
    (void)cmd_write_failed(name);
    /* Half a file is worse than none; devices are left alone. */
    if (strncmp(name, "/dev/", 5) != 0)
        (void)remove(name);
    return EXIT_NO_OUTPUT;
}

const char *cmd_extension(const char *target)
{
    return strncmp(target, "sm_", 3) == 0        ? "cubin"
           : strncmp(target, "compute_", 8) == 0 ? "ptx"
                                                 : "hsaco";
}

int cmd_extract(const struct options *options)
{
    const kpk_module *module;
    kpk_object object;
    char name[512];
    kpk_status st;

    if (options->all || options->nwords != 2)
        return cmd_extract_file(options);
    module = cmd_find_module(options->words[0], options->words[1]);
    if (!module)
        return EXIT_NO;
    st = find(module, options->words[1], &object);
    if (st != KPK_OK)
        return cmd_failed(st);
    (void)snprintf(name, sizeof(name), "%s-%s.%s", kpk_module_name(module),
                   object.target, cmd_extension(object.target));
    for (char *c = name; *c; c++) /* of imported modules: no folders */
        if (*c == '/')
            *c = '_';
    return cmd_write_file(options->output ? options->output : name, object.data,
                          object.nbytes);
}
