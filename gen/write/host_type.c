/* host_type.c - what a type of a kernel's parameter is called on the host */
#include "write/host_type.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc_or_exit.h"

/* Deeper than any source nests; ends a record that refers to itself. */
#define MAX_DEPTH 32
#define MAX_STRUCTS 256
#define NAME_MAX_NBYTES 256

/* Types with a name of their own on the host. */
static const struct known {
    const char *name, *host;
    unsigned align;
} known_types[] = {
    {"size_t", "size_t", 8},
    {"ptrdiff_t", "ptrdiff_t", 8},
    {"intptr_t", "intptr_t", 8},
    {"uintptr_t", "uintptr_t", 8},
    {"_Float16", "kpk_f16", 2},
    {"__half", "kpk_f16", 2},
    {"__half_raw", "kpk_f16", 2},
    {"__bf16", "kpk_bf16", 2},
    {"__hip_bfloat16", "kpk_bf16", 2},
    {"hip_bfloat16", "kpk_bf16", 2},
    {"__hip_fp8_e4m3", "kpk_f8_e4m3", 1},
    {"__hip_fp8_e5m2", "kpk_f8_e5m2", 1},
    {"dim3", "kpk_uint3", 4},
};

/* HIP's vectors: these words and 1 to 4; kpack/types.h has the same list. */
static const struct {
    const char *name;
    unsigned align;
} vector_types[] = {
    {"char", 1},     {"uchar", 1},     {"short", 2}, {"ushort", 2},
    {"int", 4},      {"uint", 4},      {"long", 8},  {"ulong", 8},
    {"longlong", 8}, {"ulonglong", 8}, {"float", 4}, {"double", 8},
};

struct host_struct {
    unsigned type; /* its DICompositeType */
    char name[NAME_MAX_NBYTES];
    char cxx[NAME_MAX_NBYTES]; /* name in the source */
    char *body;                /* members */
};

/* The alignment of a struct that was looked into: many may contain one. */
struct aligned {
    unsigned type;
    unsigned long long align;
};

struct host_types {
    const struct ir *ir;
    const char *module;
    const struct csv *table;
    size_t type_column, host_column, header_column;
    bool *used; /* rows of the table */
    struct host_struct structs[MAX_STRUCTS];
    size_t nstructs;
    struct aligned *aligned;
    size_t naligned;
};

struct host_types *host_types_new(const struct ir *ir, const char *module,
                                  const struct csv *table)
{
    struct host_types *h = alloc_new(1, sizeof(*h));

    h->ir = ir;
    h->module = module;
    h->table = table;
    if (!table)
        return h;
    h->type_column = csv_column(table, "type");
    h->host_column = csv_column(table, "host");
    h->header_column = csv_column(table, "header");
    h->used = alloc_new(table->nrows, sizeof(*h->used));
    return h;
}

void host_types_free(struct host_types *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->nstructs; i++)
        free(h->structs[i].body);
    free(h->aligned);
    free(h->used);
    free(h);
}

void host_squeeze(const char *name, char *out, size_t nbytes)
{
    size_t n = 0;

    for (; *name && n + 1 < nbytes; name++)
        if (isalnum((unsigned char)*name))
            out[n++] = *name;
        else if (*name == '*' && n + 4 < nbytes)
            n += (size_t)snprintf(out + n, nbytes - n, "%sp",
                                  n && out[n - 1] != '_' ? "_" : "");
        else if (n && out[n - 1] != '_')
            out[n++] = '_';
    while (n && out[n - 1] == '_')
        n--;
    out[n] = '\0';
}

/* ---- looking at a type ---- */

static const char *cell(const struct csv *table, size_t row, size_t column)
{
    return column < table->ncolumns
               ? table->cells[row * table->ncolumns + column]
               : "";
}

/* The vector type of that name, "float4": its host name and alignment. */
static bool vector_type(const char *name, char out[HOST_TEXT_MAX],
                        unsigned *align)
{
    for (size_t i = 0; i < sizeof(vector_types) / sizeof(vector_types[0]);
         i++) {
        size_t n = strlen(vector_types[i].name);

        if (strncmp(name, vector_types[i].name, n) == 0 && name[n] >= '1' &&
            name[n] <= '4' && !name[n + 1]) {
            snprintf(out, HOST_TEXT_MAX, "kpk_%s", name);
            *align = vector_types[i].align;
            return true;
        }
    }
    return false;
}

/* A named type's host type, if known; types.csv goes first. An alignment of 0
 * means that we do not know it. */
static bool named(const struct host_types *h, const char *name,
                  char out[HOST_TEXT_MAX], unsigned *align)
{
    for (size_t r = 0; h->table && r < h->table->nrows; r++)
        if (strcmp(cell(h->table, r, h->type_column), name) == 0) {
            h->used[r] = true;
            snprintf(out, HOST_TEXT_MAX, "%s",
                     cell(h->table, r, h->host_column));
            *align = 0;
            return true;
        }
    for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++)
        if (strcmp(known_types[i].name, name) == 0) {
            snprintf(out, HOST_TEXT_MAX, "%s", known_types[i].host);
            *align = known_types[i].align;
            return true;
        }
    return vector_type(name, out, align);
}

static bool has_tag(const struct host_types *h, unsigned type, const char *tag)
{
    return ir_says(h->ir, type, "tag", tag);
}

static bool is_qualifier(const struct host_types *h, unsigned type)
{
    return has_tag(h, type, "DW_TAG_const_type") ||
           has_tag(h, type, "DW_TAG_volatile_type") ||
           has_tag(h, type, "DW_TAG_restrict_type") ||
           has_tag(h, type, "DW_TAG_atomic_type");
}

static bool is_pointer(const struct host_types *h, unsigned type)
{
    return has_tag(h, type, "DW_TAG_pointer_type") ||
           has_tag(h, type, "DW_TAG_reference_type") ||
           has_tag(h, type, "DW_TAG_rvalue_reference_type");
}

static bool is_struct(const struct host_types *h, unsigned type)
{
    return has_tag(h, type, "DW_TAG_structure_type") ||
           has_tag(h, type, "DW_TAG_class_type") ||
           has_tag(h, type, "DW_TAG_union_type");
}

/* The number of elements of an array, over all dimensions; 0 if the IR does not
 * give it. */
static unsigned long long array_count(const struct host_types *h, unsigned type)
{
    const unsigned list = ir_ref(h->ir, type, "elements");
    unsigned long long n = 1;

    for (size_t i = 0; i < ir_list_count(h->ir, list); i++)
        n *= ir_number(h->ir, ir_list_item(h->ir, list, i), "count", 0);
    return n;
}

static unsigned long long nbytes_of(const struct host_types *h, unsigned type,
                                    int depth)
{
    if (depth > MAX_DEPTH)
        return 0;
    if (is_pointer(h, type))
        return 8;
    if (is_qualifier(h, type) || has_tag(h, type, "DW_TAG_typedef"))
        return nbytes_of(h, ir_ref(h->ir, type, "baseType"), depth + 1);
    return ir_number(h->ir, type, "size", 0) / 8;
}

unsigned long long host_nbytes(const struct host_types *h, unsigned type)
{
    return nbytes_of(h, type, 0);
}

/* A DIBasicType: integers and floats, by encoding and size. */
static bool basic(const struct host_types *h, unsigned type,
                  char out[HOST_TEXT_MAX])
{
    static const struct {
        const char *encoding;
        unsigned long long nbytes;
        const char *host;
    } rows[] = {
        {"DW_ATE_boolean", 1, "bool"},
        {"DW_ATE_signed_char", 1, "int8_t"},
        {"DW_ATE_unsigned_char", 1, "uint8_t"},
        {"DW_ATE_signed", 1, "int8_t"},
        {"DW_ATE_signed", 2, "int16_t"},
        {"DW_ATE_signed", 4, "int32_t"},
        {"DW_ATE_signed", 8, "int64_t"},
        {"DW_ATE_unsigned", 1, "uint8_t"},
        {"DW_ATE_unsigned", 2, "uint16_t"},
        {"DW_ATE_unsigned", 4, "uint32_t"},
        {"DW_ATE_unsigned", 8, "uint64_t"},
        {"DW_ATE_UTF", 1, "uint8_t"},
        {"DW_ATE_UTF", 2, "uint16_t"},
        {"DW_ATE_UTF", 4, "uint32_t"},
        {"DW_ATE_float", 4, "float"},
        {"DW_ATE_float", 8, "double"},
    };
    const unsigned long long nbytes = ir_number(h->ir, type, "size", 0) / 8;

    if (ir_says(h->ir, type, "name", "\"char\"")) {
        snprintf(out, HOST_TEXT_MAX, "char");
        return true;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].nbytes == nbytes &&
            ir_says(h->ir, type, "encoding", rows[i].encoding)) {
            snprintf(out, HOST_TEXT_MAX, "%s", rows[i].host);
            return true;
        }
    return false;
}

/* ---- structs by value ---- */

static bool declare(struct host_types *h, unsigned type, const char *quals,
                    const char *inner, int depth, char out[HOST_TEXT_MAX]);

static unsigned long long align_of(struct host_types *h, unsigned type,
                                   int depth);

/* A struct's alignment: its members' largest. A member without a known
 * alignment gives 0 to every struct around it. */
static unsigned long long align_of_struct(struct host_types *h, unsigned type,
                                          int depth)
{
    const unsigned list = ir_ref(h->ir, type, "elements");
    unsigned long long most = 1;

    for (size_t i = 0; i < h->naligned; i++)
        if (h->aligned[i].type == type)
            return h->aligned[i].align;
    for (size_t i = 0; i < ir_list_count(h->ir, list); i++) {
        const unsigned member = ir_list_item(h->ir, list, i);
        unsigned long long one;

        if (!has_tag(h, member, "DW_TAG_member"))
            continue;
        one = align_of(h, ir_ref(h->ir, member, "baseType"), depth + 1);
        if (one == 0)
            return 0;
        most = one > most ? one : most;
    }
    h->aligned = alloc_grow(h->aligned, h->naligned, sizeof(*h->aligned));
    h->aligned[h->naligned++] = (struct aligned){type, most};
    return most;
}

/* The alignment of a type in C; 0 if it is unknown. */
static unsigned long long align_of(struct host_types *h, unsigned type,
                                   int depth)
{
    char name[NAME_MAX_NBYTES], host[HOST_TEXT_MAX];
    unsigned align;

    if (depth > MAX_DEPTH)
        return 0;
    if (is_pointer(h, type))
        return 8;
    if (ir_text(h->ir, type, "name", name, sizeof(name)) &&
        named(h, name, host, &align))
        return align;
    if (is_qualifier(h, type) || has_tag(h, type, "DW_TAG_typedef") ||
        has_tag(h, type, "DW_TAG_array_type") ||
        has_tag(h, type, "DW_TAG_enumeration_type"))
        return align_of(h, ir_ref(h->ir, type, "baseType"), depth + 1);
    if (is_struct(h, type))
        return align_of_struct(h, type, depth);
    return ir_is(h->ir, type, "DIBasicType") ? nbytes_of(h, type, 0) : 0;
}

/* Writes the members of a struct; false if C would lay them out otherwise. */
static bool write_members(struct host_types *h, unsigned type, int depth,
                          FILE *f)
{
    const unsigned list = ir_ref(h->ir, type, "elements");
    unsigned long long end = 0, align = align_of(h, type, 0);

    if (align == 0 || has_tag(h, type, "DW_TAG_union_type"))
        return false;
    for (size_t i = 0; i < ir_list_count(h->ir, list); i++) {
        const unsigned member = ir_list_item(h->ir, list, i);
        const unsigned base = ir_ref(h->ir, member, "baseType");
        unsigned long long at, one;
        char name[NAME_MAX_NBYTES], text[HOST_TEXT_MAX], flags[128];

        if (ir_is(h->ir, member, "DISubprogram"))
            continue;
        ir_text(h->ir, member, "flags", flags, sizeof(flags));
        if (strstr(flags, "DIFlagStaticMember"))
            continue;
        if (!has_tag(h, member, "DW_TAG_member") ||
            strstr(flags, "DIFlagBitField") ||
            !ir_text(h->ir, member, "name", name, sizeof(name)))
            return false;
        at = ir_number(h->ir, member, "offset", 0) / 8;
        one = align_of(h, base, 0);
        if (one == 0 || at != (end + one - 1) / one * one ||
            !declare(h, base, "", name, depth + 1, text))
            return false;
        end = at + ir_number(h->ir, member, "size", 0) / 8;
        fprintf(f, "    %s;\n", text);
    }
    return end > 0 &&
           (end + align - 1) / align * align == nbytes_of(h, type, 0);
}

/* A struct's definition, made once. Structs in its members come before it. */
static const struct host_struct *define(struct host_types *h, unsigned type,
                                        const char *cxx, int depth)
{
    struct host_struct *s;
    char squeezed[NAME_MAX_NBYTES];
    size_t nbytes;
    char *body = NULL;
    FILE *f;
    bool in_c;

    for (size_t i = 0; i < h->nstructs; i++)
        if (h->structs[i].type == type)
            return &h->structs[i];
    f = alloc_stream(&body, &nbytes);
    in_c = write_members(h, type, depth, f);
    (void)fclose(f);
    if (h->nstructs == MAX_STRUCTS) {
        free(body);
        return NULL;
    }
    if (!in_c) {
        free(body);
        body = alloc_text("    unsigned char bytes[%llu];\n",
                          nbytes_of(h, type, 0));
    }
    s = &h->structs[h->nstructs++];
    s->type = type;
    s->body = body;
    host_squeeze(cxx, squeezed, sizeof(squeezed));
    snprintf(s->cxx, sizeof(s->cxx), "%s", cxx);
    snprintf(s->name, sizeof(s->name), "kpk_%s_%.180s", h->module, squeezed);
    for (size_t i = 0; i + 1 < h->nstructs; i++)
        if (strcmp(h->structs[i].name, s->name) == 0)
            snprintf(s->name, sizeof(s->name), "kpk_%s_%.180s_%zu", h->module,
                     squeezed, h->nstructs);
    return s;
}

/* ---- declarations ---- */

static bool leaf(const char *quals, const char *text, const char *inner,
                 char out[HOST_TEXT_MAX])
{
    /* "T *x" has its blank before the stars, "T x" before the name */
    int n = snprintf(out, HOST_TEXT_MAX, "%s%s%s%s", quals, text,
                     *inner ? " " : "", inner);

    return n > 0 && n < HOST_TEXT_MAX;
}

/* A type without its qualifiers and typedefs. */
static unsigned bare(const struct host_types *h, unsigned type)
{
    for (int i = 0; i < MAX_DEPTH && (is_qualifier(h, type) ||
                                      has_tag(h, type, "DW_TAG_typedef"));
         i++)
        type = ir_ref(h->ir, type, "baseType");
    return type;
}

/* `quals` are the type's qualifiers. `inner` stands in the place of a name:
 * "*x" below a pointer. C's declarations read from the inside out. */
static bool declare(struct host_types *h, unsigned type, const char *quals,
                    const char *inner, int depth, char out[HOST_TEXT_MAX])
{
    const unsigned base = ir_ref(h->ir, type, "baseType");
    const bool pointed_to = *inner == '*' || *inner == '(';
    char text[HOST_TEXT_MAX], name[NAME_MAX_NBYTES];
    const struct host_struct *s;
    unsigned align;
    int n;

    snprintf(out, HOST_TEXT_MAX, "a type that is too deep");
    if (depth > MAX_DEPTH)
        return false;
    if (type == IR_NONE || ir_is(h->ir, type, "DISubroutineType"))
        return leaf(quals, "void", inner, out);
    if (has_tag(h, type, "DW_TAG_const_type"))
        n = snprintf(text, sizeof(text), "const %s", quals);
    else if (has_tag(h, type, "DW_TAG_volatile_type"))
        n = snprintf(text, sizeof(text), "volatile %s", quals);
    else
        n = snprintf(text, sizeof(text), "%s", quals);
    if (n >= HOST_TEXT_MAX)
        return false;
    if (is_qualifier(h, type))
        return declare(h, base, text, inner, depth + 1, out);

    if (ir_text(h->ir, type, "name", name, sizeof(name)) &&
        named(h, name, text, &align))
        return leaf(quals, text, inner, out);
    if (has_tag(h, type, "DW_TAG_typedef")) {
        /* an unnamed struct takes its typedef's name */
        if (is_struct(h, base) && !pointed_to &&
            !ir_text(h->ir, base, "name", text, sizeof(text)) &&
            !define(h, base, name, depth))
            return false;
        return declare(h, base, quals, inner, depth + 1, out);
    }
    if (is_pointer(h, type)) {
        const bool array = has_tag(h, bare(h, base), "DW_TAG_array_type");

        n = snprintf(text, sizeof(text), "%s*%s%s%s", array ? "(" : "", quals,
                     inner, array ? ")" : "");
        return n < HOST_TEXT_MAX && declare(h, base, "", text, depth + 1, out);
    }
    if (has_tag(h, type, "DW_TAG_array_type")) {
        n = snprintf(text, sizeof(text), "%s[%llu]", inner,
                     array_count(h, type));
        return n < HOST_TEXT_MAX &&
               declare(h, base, quals, text, depth + 1, out);
    }
    if (has_tag(h, type, "DW_TAG_enumeration_type"))
        return declare(h, base, quals, inner, depth + 1, out);
    if (is_struct(h, type)) {
        if (pointed_to)
            return leaf(quals, "void", inner, out);
        s = define(h, type, *name ? name : "struct", depth);
        return s && leaf(quals, s->name, inner, out);
    }
    if (basic(h, type, text))
        return leaf(quals, text, inner, out);
    if (pointed_to)
        return leaf(quals, "void", inner, out);
    snprintf(out, HOST_TEXT_MAX, "%s", *name ? name : "a type without a name");
    return false;
}

bool host_declare(struct host_types *h, unsigned type, const char *name,
                  char out[HOST_TEXT_MAX])
{
    return declare(h, type, "", name, 0, out);
}

size_t host_nstructs(const struct host_types *h)
{
    return h->nstructs;
}

const char *host_struct_name(const struct host_types *h, size_t i)
{
    return h->structs[i].name + sizeof("kpk_") - 1;
}

/* ---- the header before its functions ---- */

void host_write_includes(FILE *f, const struct host_types *h)
{
    for (size_t r = 0; h->table && r < h->table->nrows; r++) {
        const char *header = cell(h->table, r, h->header_column);
        bool repeated = false;

        for (size_t q = 0; q < r; q++)
            repeated |=
                h->used[q] &&
                strcmp(cell(h->table, q, h->header_column), header) == 0;
        if (!h->used[r] || !*header || repeated)
            continue;
        if (strncmp(header, "./", 2) == 0) /* beside the launchers */
            fprintf(f, "#include \"%s\"\n", header + 2);
        else
            fprintf(f, "#include <%s>\n", header);
    }
}

void host_write_structs(FILE *f, const struct host_types *h)
{
    for (size_t i = 0; i < h->nstructs; i++) {
        const struct host_struct *s = &h->structs[i];
        const unsigned long long nbytes = nbytes_of(h, s->type, 0);

        fprintf(f,
                "/* %s of the kernels */\n"
                "typedef struct %s {\n%s} %s;\n"
                "typedef char %s_is_%llu_bytes[sizeof(%s) == %llu ? 1 : -1];\n"
                "\n",
                s->cxx, s->name, s->body, s->name, s->name, nbytes, s->name,
                nbytes);
    }
}
