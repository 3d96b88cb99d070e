/* rust.c - writes a pack's files for Rust: rust/PACK.rs, rust/PACK/MODULE.rs
 *
 * Types come from the declarations that the C launchers have, "const float *x":
 * they are either one of the words below or an address of them.
 */
#include "write/rust.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc_or_exit.h"

/* ---- types --------------------------------------------------------------- */

static const struct {
    const char *c, *rust;
} words[] = {
    {"bool", "bool"},       {"char", "i8"},        {"int8_t", "i8"},
    {"int16_t", "i16"},     {"int32_t", "i32"},    {"int64_t", "i64"},
    {"uint8_t", "u8"},      {"uint16_t", "u16"},   {"uint32_t", "u32"},
    {"uint64_t", "u64"},    {"size_t", "usize"},   {"uintptr_t", "usize"},
    {"ptrdiff_t", "isize"}, {"intptr_t", "isize"}, {"float", "f32"},
    {"double", "f64"},      {"kpk_f16", "f16"},    {"kpk_bf16", "bf16"},
    {"kpk_f8_e4m3", ""},    {"kpk_f8_e5m2", ""},
};

/* kpack/types.h has these with 1 to 4 at the end; the crate's types.rs, too. */
static const char *const vectors[] = {
    "char", "uchar", "short",    "ushort",    "int",   "uint",
    "long", "ulong", "longlong", "ulonglong", "float", "double",
};

enum kind {
    NUMBER,    /* a type that Rust has */
    CONVERTED, /* a small float, whose like other crates have */
    INPUT,     /* const T * */
    OUTPUT,    /* T * */
    UNKNOWN    /* a struct by value */
};

struct parameter {
    enum kind kind;
    char name[LAUNCHER_NAME_MAX];
    char type[64]; /* Rust's; of memory the element's */
};

static bool is_vector(const char *word)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const size_t n = strlen(vectors[i]);

        if (strncmp(word, vectors[i], n) == 0 && word[n] >= '1' &&
            word[n] <= '4' && !word[n + 1])
            return true;
    }
    return false;
}

/* The Rust type of a C type's name. */
static bool find_type(const char *word, enum kind *kind, char out[64])
{
    const bool ours = strncmp(word, "kpk_", 4) == 0;

    *kind = NUMBER;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].c, word) == 0) {
            const char *rust = *words[i].rust ? words[i].rust : word + 4;

            *kind = ours ? CONVERTED : NUMBER;
            snprintf(out, 64, "%s%s", ours ? "::kpack::" : "", rust);
            return true;
        }
    if (!ours || !is_vector(word + 4))
        return false;
    snprintf(out, 64, "::kpack::types::%s", word + 4);
    return true;
}

/* Reads "const float *x" less "x": what the pointer points to, and whether it
 * may be written. What has brackets points to arrays or functions. */
static void read_type(const char *declaration, size_t n, struct parameter *out)
{
    char text[HOST_TEXT_MAX], *star, *word = text;
    enum kind kind;

    snprintf(text, sizeof(text), "%.*s", (int)n, declaration);
    star = strrchr(text, '*');
    if (star) { /* qualifiers of the pointer itself do not matter */
        const bool deep = strchr(text, '*') != star || strchr(text, '(');

        *star = '\0';
        out->kind = strncmp(text, "const ", 6) == 0 ? INPUT : OUTPUT;
        if (deep) {
            static const char after[] = "const "; /* of the pointed-to type */
            const size_t end = strlen(text), n_after = sizeof(after) - 1;

            out->kind =
                end > n_after && strcmp(text + end - n_after, after) == 0
                    ? INPUT
                    : OUTPUT;
            *text = '\0';
        }
    }
    for (;; word = strchr(word, ' ') + 1)
        if (strncmp(word, "const ", 6) != 0 &&
            strncmp(word, "volatile ", 9) != 0)
            break;
    word[strcspn(word, " ")] = '\0';
    if (!find_type(word, &kind, out->type)) {
        kind = UNKNOWN;
        snprintf(out->type, sizeof(out->type), "::kpack::types::Void");
    }
    if (!star)
        out->kind = kind;
}

/* ---- names --------------------------------------------------------------- */

/* Rust's words, and what the methods themselves use. C's that are words of
 * both, such as `for`, have an underscore already. */
/* clang-format off */
static const char *const taken[] = {
    "Self", "abstract", "as", "async", "at", "await", "become", "box", "by_value",
    "crate", "dyn", "final", "fn", "get", "impl", "in", "instance", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "self", "super", "trait", "type", "unsafe", "unsized", "use", "where", "yield",
};
/* clang-format on */

static const char *ending(const char *name)
{
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (strcmp(taken[i], name) == 0)
            return "_";
    return "";
}

static struct parameter *read_parameters(const struct launcher *l)
{
    struct parameter *out = alloc_new(l->kernel->nargs, sizeof(*out));

    for (size_t a = 0; a < l->kernel->nargs; a++) {
        const char *name = l->names[a];
        const char *last = l->declarations[a];

        /* The parameter's name is the last match; types come before it. */
        for (const char *at = last; (at = strstr(at, name)); at++)
            last = at;
        read_type(l->declarations[a], (size_t)(last - l->declarations[a]),
                  &out[a]);
        snprintf(out[a].name, sizeof(out[a].name), "%.500s%s", name,
                 ending(name));
        for (size_t b = 0; b < a; b++)
            if (strcmp(out[b].name, out[a].name) == 0)
                strcat(out[a].name, "_");
    }
    return out;
}

/* ---- a module ------------------------------------------------------------ */

/* Lines " * text" as a block of a documentation comment. */
static void write_block(FILE *f, const char *indent, char *text)
{
    fprintf(f, "%s/// ```text\n", indent);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *words_of = line + 2; /* less " *" */

        fprintf(f, "%s///%s\n", indent, words_of);
    }
    fprintf(f, "%s/// ```\n", indent);
}

static void write_about(FILE *f, const char *indent, const struct launchers *l,
                        const struct launcher *one)
{
    char *text = NULL;
    size_t nbytes;
    FILE *memory = alloc_stream(&text, &nbytes);

    if (one)
        launcher_write_about(memory, l, one);
    else
        launchers_write_about(memory, l);
    (void)fclose(memory);
    if (*text)
        write_block(f, indent, text);
    free(text);
}

static void write_parameter(FILE *f, const struct parameter *p)
{
    static const char *const formats[] = {
        [NUMBER] = "        %s: %s,\n",
        [CONVERTED] = "        %s: impl Into<%s>,\n",
        [INPUT] = "        %s: impl ::kpack::Input<%s>,\n",
        [OUTPUT] = "        %s: impl ::kpack::Output<%s>,\n",
    };

    if (p->kind == UNKNOWN)
        fprintf(f, "        %s: ::kpack::ByValue<impl Copy>,\n", p->name);
    else
        fprintf(f, formats[p->kind], p->name, p->type);
}

/* The parameter as the kernel takes it. */
static void write_value(FILE *f, const struct parameter *p,
                        const struct codeobj_arg *arg)
{
    static const char *const formats[] = {
        [NUMBER] = "",
        [CONVERTED] = "        let %s: %s = %s.into();\n",
        [INPUT] = "        let %s = ::kpack::Input::<%s>::address(%s);\n",
        [OUTPUT] = "        let %s = ::kpack::Output::<%s>::address_mut(%s);\n",
    };

    if (p->kind == UNKNOWN)
        fprintf(f, "        let %s = ::kpack::Kernels::by_value(%s, %u)?;\n",
                p->name, p->name, (unsigned)arg->size);
    else if (*formats[p->kind])
        fprintf(f, formats[p->kind], p->name, p->type, p->name);
}

static void write_kernel(FILE *f, const struct launchers *l,
                         const struct launcher *one)
{
    const size_t number = (size_t)(one->kernel - l->in->object->kernels);
    struct parameter *parameters = read_parameters(one);

    fputc('\n', f);
    write_about(f, "    ", l, one);
    fprintf(f,
            "    ///\n"
            "    /// # Safety\n"
            "    ///\n"
            "    /// As `kpack::Kernel::launch`.\n"
            "    pub unsafe fn %s%s(\n"
            "        &self,\n"
            "        shape: &::kpack::Shape,\n"
            "        stream: &::kpack::Stream,\n",
            one->name, ending(one->name));
    for (size_t a = 0; a < one->kernel->nargs; a++)
        write_parameter(f, &parameters[a]);
    fputs("    ) -> ::kpack::Result<()> {\n", f);
    for (size_t a = 0; a < one->kernel->nargs; a++)
        write_value(f, &parameters[a], &one->kernel->args[a]);
    fprintf(f, "        self.0.launch(%zu, shape, stream, &[", number);
    for (size_t a = 0; a < one->kernel->nargs; a++)
        fprintf(f, "%s::kpack::Kernels::at(&%s)", a ? ", " : "",
                parameters[a].name);
    fputs("])\n    }\n", f);
    free(parameters);
}

void rust_write_module(FILE *f, const struct launchers *l)
{
    const struct launchers_input *in = l->in;

    fprintf(f,
            "// %s.rs - typed kernels of module %s, pack %s. Written by "
            "kpack-gen; do not edit.\n",
            in->module, in->module, in->pack);
    if (in->object->nkernels == 0)
        return;
    fprintf(f, "\n/// The kernels of module %s on one instance.\n", in->module);
    if (l->doc) {
        fputs("///\n", f);
        write_about(f, "", l, NULL);
    }
    fprintf(f,
            "#[derive(Clone, Debug)]\n"
            "pub struct Kernels(::kpack::Kernels);\n\n"
            "#[allow(clippy::too_many_arguments, dead_code, non_snake_case)]\n"
            "impl Kernels {\n"
            "    /// Finds them in an instance that has the module, which is "
            "loaded unless it is.\n"
            "    pub fn get(instance: &::kpack::Instance) -> "
            "::kpack::Result<Self> {\n"
            "        ::kpack::Kernels::get(instance, \"%s\", \"%s\", "
            "0x%016" PRIx64 ").map(Kernels)\n"
            "    }\n",
            in->module, in->object->kernels[0].name,
            launchers_layout(in->object));
    for (size_t i = 0; i < in->object->nkernels; i++)
        if (*l->of[i].why) {
            fprintf(f, "\n    // %s has no method: ", l->of[i].name);
            for (const char *c = l->of[i].why; *c; c++)
                fputc((unsigned char)*c < ' ' ? '_' : *c, f);
            fputc('\n', f);
        } else {
            write_kernel(f, l, &l->of[i]);
        }
    fputs("}\n", f);
}

/* ---- a pack -------------------------------------------------------------- */

/* Writes a function that returns constant data by its symbol. */
static void write_symbol(FILE *f, const char *indent, const char *function,
                         const char *type, const char *symbol)
{
    fprintf(f,
            "%s#[allow(dead_code)]\n"
            "%spub fn %s() -> ::kpack::%s {\n"
            "%s    #[allow(non_upper_case_globals)]\n"
            "%s    extern \"C\" {\n"
            "%s        static %s: ::kpack::sys::kpk_%s;\n"
            "%s    }\n"
            "%s    // SAFETY: constant data of the archive that this file was "
            "made with.\n"
            "%s    ::kpack::%s::new(unsafe { &%s })\n"
            "%s}\n",
            indent, indent, function, type, indent, indent, indent, symbol,
            function, indent, indent, indent, type, symbol, indent);
}

void rust_write_pack(FILE *f, const char *pack, char *const *modules,
                     size_t nmodules)
{
    char *symbol = alloc_text("kpk_%s", pack);

    fprintf(f,
            "// %s.rs - pack %s. Written by kpack-gen; do not edit.\n\n"
            "/// Pack %s: a program that calls this links all of it.\n",
            pack, pack, pack);
    write_symbol(f, "", "pack", "Pack", symbol);
    free(symbol);
    for (size_t i = 0; i < nmodules; i++) {
        symbol = alloc_text("kpk_module_%s__%s", pack, modules[i]);
        fprintf(f,
                "\n/// Module %s.\n"
                "pub mod %s%s {\n"
                "    /// The module: a program that calls this, and not "
                "`pack()`, links no others.\n",
                modules[i], modules[i], ending(modules[i]));
        write_symbol(f, "    ", "module", "Module", symbol);
        fprintf(f, "    include!(\"%s/%s.rs\");\n}\n", pack, modules[i]);
        free(symbol);
    }
}
