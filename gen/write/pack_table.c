/* pack_table.c - writes build/gen/pack.c and the header of a pack */
#include <ctype.h>
#include <string.h>

#include "write/tables.h"

void tables_write_pack(FILE *f, const char *pack, char *const *modules,
                       size_t nmodules)
{
    fprintf(f,
            "/* Written by kpack-gen; do not edit. The table of pack %s. */\n"
            "#include \"kpack/format.h\"\n\n"
            "#define HIDDEN __attribute__((visibility(\"hidden\")))\n\n",
            pack);
    for (size_t i = 0; i < nmodules; i++)
        fprintf(f, "extern HIDDEN const struct kpk_module kpk_module_%s__%s;\n",
                pack, modules[i]);
    fputs("\nstatic const struct kpk_module *const modules[] = {\n", f);
    for (size_t i = 0; i < nmodules; i++)
        fprintf(f, "    &kpk_module_%s__%s,\n", pack, modules[i]);
    fprintf(f,
            "};\n\n"
            "extern HIDDEN const struct kpk_pack kpk_%s;\n"
            "const struct kpk_pack kpk_%s = {\n"
            "    KPK_FORMAT_VERSION, %zu, \"%s\", modules,\n};\n",
            pack, pack, nmodules, pack);
}

static void write_arg(FILE *f, const struct codeobj_arg *a)
{
    if (a->kind == KPK_ARG_BY_VALUE || a->kind == KPK_ARG_UNKNOWN)
        fprintf(f, "%u byte%s", (unsigned)a->size, a->size == 1 ? "" : "s");
    else
        fputs(a->kind == KPK_ARG_OTHER ? "handle" : "pointer", f);
    if (!*a->name)
        return;
    fputc(' ', f);
    /* Names come from a file: nothing of them may end the comment. */
    for (const char *c = a->name; *c; c++)
        fputc(isalnum((unsigned char)*c) ? *c : '_', f);
}

static void write_kernel_list(FILE *f, const struct codeobj *co)
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

/* A module's name for programs. If the headers of two packs in one source have
 * a module of the same name, its short name is taken back: what a compiler says
 * of it then names both. */
static void write_module_name(FILE *f, const char *pack, const char *module)
{
    fprintf(f,
            "extern const kpk_module kpk_module_%s__%s;\n"
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

void tables_write_header(FILE *f, const char *pack, char *const *modules,
                         struct codeobj *const *objects, size_t nmodules)
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
    for (size_t i = 0; i < nmodules; i++) {
        fprintf(f, " *   %s\n", modules[i]);
        write_kernel_list(f, objects[i]);
    }
    fprintf(f,
            " */\n"
            "#ifndef KPACK_PACK_%s_H\n"
            "#define KPACK_PACK_%s_H\n\n"
            "#include <kpack.h>\n\n"
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
            "extern const kpk_pack kpk_%s;\n\n",
            pack, pack, pack);
    for (size_t i = 0; i < nmodules; i++)
        write_module_name(f, pack, modules[i]);
    fputs("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n", f);
}
