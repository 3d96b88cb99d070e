/* pack_files.c - writes a pack's own table and headers */
#include "write/pack_files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc_or_exit.h"
#include "write/part.h"

/* ---- the table ----------------------------------------------------------- */

/* A module of the pack; some hold tables alone. */
struct entry {
    const char *name;
    const struct pack_part *part;
    size_t number; /* in the part */
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order = strcmp(x->part->name, y->part->name);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

void pack_write_table(FILE *f, const char *symbol, const char *name,
                      const struct pack_part *parts, size_t nparts)
{
    struct entry *entries;
    size_t n = 0;

    for (size_t p = 0; p < nparts; p++)
        n += parts[p].nmodules;
    entries = alloc_new(n, sizeof(*entries));
    n = 0;
    for (size_t p = 0; p < nparts; p++)
        for (size_t m = 0; m < parts[p].nmodules; m++)
            entries[n++] =
                (struct entry){parts[p].modules[m].name, &parts[p], m};
    qsort(entries, n, sizeof(*entries), by_name);
    for (size_t p = 0; p < nparts; p++) {
        char *of_part = part_symbol(&parts[p]);

        fprintf(f, "extern HIDDEN const struct kpk_module %s%s;\n", of_part,
                parts[p].imported ? "[]" : "");
        free(of_part);
    }
    fputs("\nstatic const struct kpk_module *const modules[] = {\n", f);
    for (size_t i = 0; i < n; i++) {
        char *of_part = part_symbol(entries[i].part);

        if (entries[i].part->imported)
            fprintf(f, "    &%s[%zu],\n", of_part, entries[i].number);
        else
            fprintf(f, "    &%s,\n", of_part);
        free(of_part);
    }
    fprintf(f,
            "};\n\n"
            "extern HIDDEN const struct kpk_pack kpk_%s;\n"
            "const struct kpk_pack kpk_%s = {\n"
            "    KPK_FORMAT_VERSION, %zu, \"%s\", modules,\n};\n",
            symbol, symbol, n, name);
    free(entries);
}

/* ---- headers ------------------------------------------------------------- */

static void write_arg(FILE *f, const struct codeobj_arg *a)
{
    if (a->kind == KPK_ARG_BY_VALUE || a->kind == KPK_ARG_UNKNOWN)
        fprintf(f, "%u byte%s", (unsigned)a->size, a->size == 1 ? "" : "s");
    else
        fputs(a->kind == KPK_ARG_OTHER ? "handle" : "pointer", f);
    if (!*a->name)
        return;
    fputc(' ', f);
    /* Names come from a file and must not end the comment. */
    for (const char *c = a->name; *c; c++)
        fputc(isalnum((unsigned char)*c) ? *c : '_', f);
}

void pack_write_kernels(FILE *f, const struct codeobj *co)
{
    for (size_t i = 0; i < co->nkernels; i++) {
        const struct codeobj_kernel *k = &co->kernels[i];

        fputs(" *     ", f);
        for (const char *c = k->name; *c; c++)
            fputc(isalnum((unsigned char)*c) ? *c : '_', f);
        for (size_t j = 0; j < k->nargs; j++) {
            fputs(j ? ", " : "(", f);
            write_arg(f, &k->args[j]);
        }
        fputs(k->nargs ? ")\n" : "()\n", f);
    }
}

/* Declares a module under its full and its short name. If a source includes
 * headers of two packs with modules of the same name, the short name becomes an
 * undeclared identifier whose text explains the conflict. */
static void write_module_name(FILE *f, const char *pack, const char *module)
{
    fprintf(f,
            "extern KPK_DATA const kpk_module kpk_module_%s__%s;\n"
            "#ifndef kpk_module_%s\n"
            "#define kpk_module_%s kpk_module_%s__%s\n"
            "#else\n"
            "#undef kpk_module_%s\n"
            "#define kpk_module_%s                                             "
            "   \\\n"
            "    kpk_module_%s_is_in_several_packs_say_kpk_module_PACK__%s\n"
            "#endif\n",
            pack, module, module, module, pack, module, module, module, module,
            module);
}

static void open_header(FILE *f, const char *pack)
{
    fprintf(f,
            " */\n"
            "#ifndef KPACK_PACK_%s_H\n"
            "#define KPACK_PACK_%s_H\n\n"
            "#include <kpack.h>\n\n"
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
            "extern KPK_DATA const kpk_pack kpk_%s;\n\n",
            pack, pack, pack);
}

static void close_header(FILE *f)
{
    fputs("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n", f);
}

void pack_write_header(FILE *f, const char *pack, char *const *modules,
                       char *const *lists, size_t nmodules)
{
    fprintf(f,
            "/* %s.h - the kernels of pack %s. Written by kpack-gen; do not "
            "edit.\n"
            " *\n"
            " * A program that names one module's symbol and not the pack's "
            "links that\n"
            " * module alone; kpk_module_NAME is short for "
            "kpk_module_%s__NAME.\n"
            " * Arguments are listed as the kernel takes them: a pointer, or a "
            "value of so\n"
            " * many bytes.\n"
            " *\n",
            pack, pack, pack);
    for (size_t i = 0; i < nmodules; i++)
        fprintf(f, " *   %s\n%s", modules[i], lists[i]);
    open_header(f, pack);
    for (size_t i = 0; i < nmodules; i++)
        write_module_name(f, pack, modules[i]);
    close_header(f);
}

void pack_write_launchers(FILE *f, const char *pack, char *const *modules,
                          size_t nmodules)
{
    fprintf(f,
            "/* Written by kpack-gen; do not edit. The typed launchers of all "
            "modules of pack\n"
            " * %s.%s */\n",
            pack,
            nmodules ? ""
                     : " It was imported: there are none, for code objects do "
                       "not tell types.");
    for (size_t i = 0; i < nmodules; i++)
        fprintf(f, "#include <kpack/%s/%s.h>\n", pack, modules[i]);
}

static size_t count_tables(const struct pack_part *part)
{
    size_t n = 0;

    for (size_t m = 0; m < part->nmodules; m++)
        n += part->modules[m].ntables;
    return n;
}

void pack_write_import_header(FILE *f, const char *pack,
                              const struct pack_part *parts, size_t nparts)
{
    fprintf(f,
            "/* %s.h - pack %s, imported. Written by kpack-gen; do not edit.\n"
            " *\n"
            " * Each kind of kernels is a pack as well: a program that names "
            "only that one\n"
            " * links no other. `kpack list` shows modules and kernels.\n",
            pack, pack);
    open_header(f, pack);
    for (size_t i = 0; i < nparts; i++) {
        size_t nobjects = 0, nmodules = 0;

        for (size_t m = 0; m < parts[i].nmodules; m++) {
            nobjects += parts[i].modules[m].nobjects;
            nmodules += parts[i].modules[m].nobjects > 0;
        }
        fprintf(f,
                "/* code objects: %zu, modules: %zu, tables: %zu */\n"
                "extern KPK_DATA const kpk_pack kpk_%s_%s;\n",
                nobjects, nmodules, count_tables(&parts[i]), pack,
                parts[i].name);
    }
    close_header(f);
}
