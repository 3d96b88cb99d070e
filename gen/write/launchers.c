/* launchers.c - writes the typed launchers of a module: kpack/PACK/MODULE.h */
#include "write/launchers.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv1a.h"
#include "kpack.h"
#include "pack/alias.h"
#include "util/alloc_or_exit.h"

/* ---- names ---- */

/* Words that no parameter may be called: C's and C++'s, the launcher's own,
 * and macros that systems have. */
/* clang-format off */
static const char *const keywords[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor",
    "bool", "break", "case", "catch", "char", "class", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue",
    "co_await", "co_return", "co_yield", "decltype", "default", "delete",
    "do", "double", "dynamic_cast", "else", "enum", "explicit", "export",
    "extern", "false", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "nullptr", "operator", "or", "or_eq", "private", "protected", "public",
    "register", "reinterpret_cast", "requires", "restrict", "return", "short",
    "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
    "switch", "template", "this", "thread_local", "throw", "true", "try",
    "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    "kernels", "shape", "stream", "args", "unix", "linux", "NULL", "I",
    "errno", "stdin", "stdout", "stderr", "assert", "offsetof",
};
/* clang-format on */

static bool is_keyword(const char *name)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
        if (strcmp(keywords[i], name) == 0)
            return true;
    return false;
}

/* True if a header has `kpk_NAME` as a word. */
static bool is_word_of(const char *text, const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = text; (at = strstr(at, "kpk_")); at += 4)
        if (strncmp(at + 4, name, n) == 0 &&
            !isalnum((unsigned char)at[4 + n]) && at[4 + n] != '_')
            return true;
    return false;
}

static bool is_taken(const struct launchers *w, size_t i, const char *name)
{
    char type[LAUNCHER_NAME_MAX], getter[LAUNCHER_NAME_MAX];

    snprintf(type, sizeof(type), "%s_kernels", w->in->module);
    snprintf(getter, sizeof(getter), "%s_kernels_get", w->in->module);
    if (strcmp(name, type) == 0 || strcmp(name, getter) == 0)
        return true;
    for (size_t t = 0; t < w->in->ntaken; t++)
        if (is_word_of(w->in->taken[t], name))
            return true;
    for (size_t j = 0; j < i; j++)
        if (strcmp(w->of[j].name, name) == 0)
            return true;
    return false;
}

/* ns::scale<float>, from the metadata: enclosing scopes, then the name. */
static void qualified_name(const struct ir *ir, unsigned id, int depth,
                           char out[LAUNCHER_NAME_MAX])
{
    const unsigned scope = ir_ref(ir, id, "scope");
    char name[LAUNCHER_NAME_MAX];
    size_t n;

    *out = '\0';
    if (depth < 16 && (ir_is(ir, scope, "DINamespace") ||
                       ir_is(ir, scope, "DICompositeType")))
        qualified_name(ir, scope, depth + 1, out);
    n = strlen(out);
    if (ir_text(ir, id, "name", name, sizeof(name)))
        snprintf(out + n, LAUNCHER_NAME_MAX - n, "%s%s", n ? "::" : "", name);
}

static bool has_cxx_name(const struct launchers *w, const struct launcher *l)
{
    char name[LAUNCHER_NAME_MAX];

    return l->source.kernel && !l->source.is_alias &&
           ir_text(w->in->ir, l->source.kernel->subprogram, "linkageName", name,
                   sizeof(name));
}

/* The kernel's name in the source, such as ns::scale<float>. */
static void source_name(const struct launchers *w, const struct launcher *l,
                        char out[LAUNCHER_NAME_MAX])
{
    if (has_cxx_name(w, l))
        qualified_name(w->in->ir, l->source.kernel->subprogram, 0, out);
    else
        snprintf(out, LAUNCHER_NAME_MAX, "%s", l->kernel->name);
}

static bool is_overloaded(const struct launchers *w, size_t i)
{
    char name[LAUNCHER_NAME_MAX], other[LAUNCHER_NAME_MAX];

    source_name(w, &w->of[i], name);
    for (size_t j = 0; j < w->in->object->nkernels; j++) {
        source_name(w, &w->of[j], other);
        if (j != i && strcmp(name, other) == 0)
            return true;
    }
    return false;
}

/* The types of the parameters, behind the name of an overloaded kernel. */
static void add_types(struct launchers *w, struct launcher *l)
{
    const struct ir *ir = w->in->ir;
    const unsigned list = source_types(ir, &l->source);
    char type[HOST_TEXT_MAX];

    for (size_t a = 1; a < ir_list_count(ir, list) && a < 8; a++) {
        size_t n = strlen(l->name);

        host_declare(w->types, ir_list_item(ir, list, a), "", type);
        l->name[n++] = '_';
        host_squeeze(type, l->name + n, 32);
    }
}

/* The launcher's name: the kernel's, as a name of C. Overloads get the types of
 * their parameters, names of kpack's own calls a word more. */
static void name_launcher(struct launchers *w, size_t i)
{
    struct launcher *l = &w->of[i];
    char name[LAUNCHER_NAME_MAX];
    size_t n;

    source_name(w, l, name);
    host_squeeze(name, l->name, 200);
    if (has_cxx_name(w, l) && is_overloaded(w, i))
        add_types(w, l);
    n = strlen(l->name);
    if (is_taken(w, i, l->name))
        snprintf(l->name + n, sizeof(l->name) - n, "_kernel");
    for (unsigned k = 2; is_taken(w, i, l->name); k++)
        snprintf(l->name + n, sizeof(l->name) - n, "_kernel%u", k);
}

static void name_parameter(const struct launchers *w, const struct launcher *l,
                           size_t arg, char out[LAUNCHER_NAME_MAX])
{
    char name[LAUNCHER_NAME_MAX];
    bool repeated;

    if (!ir_parameter(w->in->ir, l->source.kernel->subprogram,
                      (unsigned)arg + 1, name, sizeof(name)))
        snprintf(name, sizeof(name), "arg%zu", arg + 1);
    /* Identifiers of the source may have non-ASCII letters. */
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_';
    snprintf(out, 110, "%.100s%s", name, is_keyword(name) ? "_" : "");
    do {
        repeated = false;
        for (size_t j = 0; j < arg; j++)
            repeated |= strcmp(l->names[j], out) == 0;
        if (repeated)
            snprintf(out + strlen(out), LAUNCHER_NAME_MAX - strlen(out), "_");
    } while (repeated);
}

/* ---- signatures ---- */

/* Gives "const T *x" the element type of the alias, if it differs. */
static void retype(const struct launchers *w, const struct launcher *l,
                   char declaration[HOST_TEXT_MAX])
{
    const bool is_input = strncmp(declaration, "const ", 6) == 0;
    const char *type = declaration + (is_input ? 6 : 0);
    const char *star = strchr(type, '*');
    char host[LAUNCHER_NAME_MAX], text[HOST_TEXT_MAX];
    const char *other;

    if (!l->source.is_alias || !star || star < type + 2 ||
        (size_t)(star - type) >= sizeof(host))
        return;
    snprintf(host, (size_t)(star - type), "%s", type); /* less the blank */
    other = alias_retype(w->in->aliases, l->source.rule, host, is_input);
    if (snprintf(text, sizeof(text), "%s%s %s", is_input ? "const " : "", other,
                 star) < HOST_TEXT_MAX)
        memcpy(declaration, text, strlen(text) + 1);
}

/* Counts as the runtime does: if several entries are called "pad", each is
 * padding. */
static bool has_padding(const struct codeobj_kernel *k)
{
    size_t n = 0;

    for (size_t i = 0; i < k->nargs; i++)
        n += strcmp(k->args[i].name, "pad") == 0;
    return n > 1;
}

static void declare_parameters(struct launchers *w, struct launcher *l)
{
    const struct ir *ir = w->in->ir;
    const struct codeobj_kernel *k = l->kernel;
    const unsigned list = source_types(ir, &l->source);

    if (k->nargs && ir_list_count(ir, list) != k->nargs + 1) {
        snprintf(l->why, sizeof(l->why),
                 "its source has %zu parameters, the code object %zu",
                 ir_list_count(ir, list) ? ir_list_count(ir, list) - 1 : 0,
                 k->nargs);
        return;
    }
    for (size_t a = 0; a < k->nargs; a++) {
        const unsigned type = ir_list_item(ir, list, a + 1);

        name_parameter(w, l, a, l->names[a]);
        if (!host_declare(w->types, type, l->names[a], l->declarations[a])) {
            snprintf(l->why, sizeof(l->why), "C has no type like %.200s",
                     l->declarations[a]);
            return;
        }
        if (host_nbytes(w->types, type) != k->args[a].size) {
            snprintf(l->why, sizeof(l->why),
                     "%.100s is %llu bytes in the source, %u in the code "
                     "object",
                     l->names[a], host_nbytes(w->types, type),
                     (unsigned)k->args[a].size);
            return;
        }
        retype(w, l, l->declarations[a]);
    }
}

static void prepare(struct launchers *w, size_t i)
{
    struct launcher *l = &w->of[i];
    const size_t nargs = l->kernel->nargs;

    l->declarations = alloc_new(nargs, sizeof(*l->declarations));
    l->names = alloc_new(nargs, sizeof(*l->names));
    if (!l->source.kernel)
        snprintf(l->why, sizeof(l->why),
                 "its signature is not known: there is no source");
    else if (has_padding(l->kernel))
        snprintf(l->why, sizeof(l->why),
                 "its argument list has padding; use kpk_launch_packed()");
    else if (nargs > KPK_MAX_ARGS)
        snprintf(l->why, sizeof(l->why),
                 "it has more than %d arguments; use kpk_launch_packed()",
                 KPK_MAX_ARGS);
    else
        declare_parameters(w, l);
    name_launcher(w, i);
}

/* ---- layout ---- */

uint64_t launchers_layout(const struct codeobj *object)
{
    uint64_t h = FNV1A_EMPTY;

    for (size_t i = 0; i < object->nkernels; i++) {
        const struct codeobj_kernel *k = &object->kernels[i];

        h = fnv1a_layout_kernel(h, k->name);
        for (size_t a = 0; a < k->nargs; a++)
            h = fnv1a_layout_arg(h, k->args[a].offset, k->args[a].size);
    }
    return h;
}

/* ---- the header ---- */

/* Names come from files: none ends the comment that it stands in. */
static void write_safe(FILE *f, const char *text)
{
    char before = ' ';

    for (; *text; before = *text++) {
        const bool is_sign =
            (before == '*' && *text == '/') || (before == '/' && *text == '*');

        fputc(isprint((unsigned char)*text) && *text != '\\' && !is_sign ? *text
                                                                         : '_',
              f);
    }
}

/* The real path of a DIFile; the compiler spells one file in several ways. */
static bool file_path(const struct ir *ir, unsigned file,
                      char out[HOST_TEXT_MAX])
{
    char folder[HOST_TEXT_MAX], name[HOST_TEXT_MAX];

    if (!ir_text(ir, file, "filename", name, sizeof(name)))
        return false;
    if (*name == '/' || !ir_text(ir, file, "directory", folder, sizeof(folder)))
        return snprintf(out, HOST_TEXT_MAX, "%s", name) > 0;
    return snprintf(out, HOST_TEXT_MAX, "%s/%s", folder, name) < HOST_TEXT_MAX;
}

/* The source of the kernels: the file of the first kernel's compile unit. */
static bool source_path(const struct launchers *w, char out[HOST_TEXT_MAX])
{
    const struct ir *ir = w->in->ir;

    for (size_t i = 0; ir && i < w->in->object->nkernels; i++) {
        const struct launcher *l = &w->of[i];

        if (l->source.kernel) {
            const unsigned unit =
                ir_ref(ir, l->source.kernel->subprogram, "unit");

            return file_path(ir, ir_ref(ir, unit, "file"), out);
        }
    }
    return false;
}

/* True if a kernel is defined in the source, and not in a header. */
static bool is_from_source(const struct launchers *w, const struct launcher *l)
{
    const struct ir *ir = w->in->ir;
    char path[HOST_TEXT_MAX], other[HOST_TEXT_MAX];

    return l->source.kernel && source_path(w, path) &&
           file_path(ir, ir_ref(ir, l->source.kernel->subprogram, "file"),
                     other) &&
           strcmp(path, other) == 0;
}

void launchers_write_about(FILE *f, const struct launchers *w)
{
    if (w->doc)
        doc_write_file(f, w->doc);
}

void launcher_write_about(FILE *f, const struct launchers *w,
                          const struct launcher *l)
{
    const struct ir *ir = w->in->ir;
    char cxx[LAUNCHER_NAME_MAX];

    fputs(" * ", f);
    if (has_cxx_name(w, l)) {
        source_name(w, l, cxx);
        write_safe(f, cxx);
        fputs("()\n * exported as ", f);
    }
    write_safe(f, l->kernel->name);
    if (l->source.kernel && l->source.is_alias) {
        fputs(", a second name of ", f);
        write_safe(f, l->source.kernel->name);
    }
    fputc('\n', f);
    if (*l->why) {
        fputs(" *\n * has no launcher: ", f);
        write_safe(f, l->why);
        fputc('\n', f);
    } else if (w->doc && is_from_source(w, l)) {
        const size_t line =
            (size_t)ir_number(ir, l->source.kernel->subprogram, "line", 0);
        char *text = NULL;
        size_t nbytes;
        FILE *memory = alloc_stream(&text, &nbytes);
        const size_t n = doc_write_line(memory, w->doc, line);

        (void)fclose(memory);
        if (n)
            fprintf(f, " *\n%s", text);
        free(text);
    }
}

/* ", TYPE name" in lines of at most 80 columns. */
static void write_parameters(FILE *f, const struct launcher *l)
{
    static const char first[] = "const kpk_shape *shape, void *stream";
    size_t column = 4 + strlen(first);

    fputs(first, f);
    for (size_t a = 0; a < l->kernel->nargs; a++) {
        const size_t n = strlen(l->declarations[a]);

        if (column + 2 + n > 78) {
            fputs(",\n    ", f);
            column = 4;
        } else {
            fputs(", ", f);
            column += 2;
        }
        fputs(l->declarations[a], f);
        column += n;
    }
    fputs(")\n", f);
}

static void write_launcher(FILE *f, const struct launchers *w,
                           const struct launcher *l)
{
    const size_t nargs = l->kernel->nargs;

    fprintf(f,
            "static inline kpk_status\n"
            "kpk_%s(const kpk_%s_kernels *kernels,\n    ",
            l->name, w->in->module);
    write_parameters(f, l);
    fputs("{\n", f);
    if (nargs) {
        size_t column = 8;

        fputs("    const void *const args[] = {\n        ", f);
        for (size_t a = 0; a < nargs; a++) {
            const size_t n = strlen(l->names[a]) + 3;

            if (a && column + n > 78) {
                fputs("\n        ", f);
                column = 8;
            }
            fprintf(f, "&%s,%s", l->names[a], a + 1 < nargs ? " " : "");
            column += n;
        }
        fputs("\n    };\n\n", f);
    }
    fprintf(f,
            "    return kpk_kernels_launch(\n"
            "        KPK_I_CAST(const kpk_kernels *, kernels), %zu, shape, "
            "stream, %s);\n"
            "}\n\n",
            (size_t)(l->kernel - w->in->object->kernels),
            nargs ? "args" : "NULL");
}

/* Writes a name of the header as `#define` to its long form, or as `#undef`. */
static void write_name(FILE *f, const struct launchers *w, const char *name,
                       bool define)
{
    if (define)
        fprintf(f, "#define kpk_%s kpk_%s__%s__%s\n", name, w->in->pack,
                w->in->module, name);
    else
        fprintf(f, "#undef kpk_%s\n", name);
}

static void write_long_names(FILE *f, const struct launchers *w, bool define)
{
    char name[LAUNCHER_NAME_MAX];

    if (define)
        fputs("/* For a source that includes the launchers of two packs or "
              "modules with\n"
              " * kernels of one name: they become "
              "kpk_PACK__MODULE__KERNEL. */\n",
              f);
    fputs("#ifdef KPK_LONG_NAMES\n", f);
    snprintf(name, sizeof(name), "%s_kernels", w->in->module);
    write_name(f, w, name, define);
    snprintf(name, sizeof(name), "%s_kernels_get", w->in->module);
    write_name(f, w, name, define);
    for (size_t i = 0; w->types && i < host_nstructs(w->types); i++)
        write_name(f, w, host_struct_name(w->types, i), define);
    for (size_t i = 0; i < w->in->object->nkernels; i++)
        if (!*w->of[i].why)
            write_name(f, w, w->of[i].name, define);
    fputs("#endif\n\n", f);
}

static void write_getter(FILE *f, const struct launchers *w)
{
    const char *module = w->in->module;

    fprintf(f,
            "/*\n"
            " * The kernels of module %s on one instance, which owns them:\n"
            " * valid until its kpk_close(), to be fetched again after\n"
            " * kpk_unload(). Any number of threads may launch from one.\n"
            " *\n"
            " * kpk_%s_kernels_get() loads the module unless it is loaded. It\n"
            " * fails as kpk_kernels_get() does, a launcher as kpk_launch().\n"
            " */\n"
            "typedef struct kpk_%s_kernels kpk_%s_kernels;\n\n"
            "static inline kpk_status\n"
            "kpk_%s_kernels_get(kpk_instance *inst, const kpk_%s_kernels "
            "**out)\n"
            "{\n"
            "    const kpk_kernels *found = NULL;\n"
            "    kpk_status status = kpk_kernels_get(\n"
            "        inst, &kpk_module_%s__%s, UINT64_C(0x%016" PRIx64
            "), &found);\n\n"
            "    if (status == KPK_OK)\n"
            "        *out = KPK_I_CAST(const kpk_%s_kernels *, found);\n"
            "    return status;\n"
            "}\n\n",
            module, module, module, module, module, module, w->in->pack, module,
            launchers_layout(w->in->object), module);
}

void launchers_write(FILE *f, const struct launchers *w)
{
    const struct launchers_input *in = w->in;

    fprintf(f,
            "/* %s.h - typed launchers of module %s, pack %s\n"
            " *\n"
            " * Written by kpack-gen; do not edit.\n",
            in->module, in->module, in->pack);
    if (w->doc) {
        fputs(" *\n", f);
        launchers_write_about(f, w);
    }
    fprintf(f,
            " */\n"
            "#ifndef KPACK_LAUNCH_%s__%s_H\n"
            "#define KPACK_LAUNCH_%s__%s_H\n\n"
            "#include <kpack.h>\n"
            "#include <kpack/%s.h>\n"
            "#include <kpack/types.h>\n",
            in->pack, in->module, in->pack, in->module, in->pack);
    if (w->types)
        host_write_includes(f, w->types);
    fputc('\n', f);
    write_long_names(f, w, true);
    if (w->types)
        host_write_structs(f, w->types);
    write_getter(f, w);
    for (size_t i = 0; i < in->object->nkernels; i++) {
        const struct launcher *l = &w->of[i];

        fputs("/*\n", f);
        launcher_write_about(f, w, l);
        fputs(" */\n", f);
        if (!*l->why)
            write_launcher(f, w, l);
        else
            fputc('\n', f);
    }
    write_long_names(f, w, false);
    fputs("#endif\n", f);
}

/* ---- the launchers of a module ---- */

struct launchers *launchers_new(const struct launchers_input *in)
{
    struct launchers *w = alloc_new(1, sizeof(*w));
    const size_t n = in->object->nkernels;
    char path[HOST_TEXT_MAX];

    w->in = in;
    w->of = alloc_new(n, sizeof(*w->of));
    if (in->ir)
        w->types = host_types_new(in->ir, in->module, in->types);
    for (size_t i = 0; i < n; i++) {
        w->of[i].kernel = &in->object->kernels[i];
        if (in->ir)
            w->of[i].source = source_find(in->ir, in->aliases, in->module,
                                          in->object->kernels[i].name);
    }
    for (size_t i = 0; i < n; i++)
        prepare(w, i);
    if (source_path(w, path)) {
        w->doc = doc_read(path);
        if (!w->doc) {
            launchers_free(w);
            return NULL;
        }
    }
    return w;
}

void launchers_free(struct launchers *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->in->object->nkernels; i++) {
        free(w->of[i].declarations);
        free(w->of[i].names);
    }
    free(w->of);
    host_types_free(w->types);
    doc_free(w->doc);
    free(w);
}
