/* amdgpu_metadata.c - reads the msgpack metadata note of a code object
 *
 * Keys and kinds: LLVM AMDGPUUsage, "Code Object Metadata". Keys that LLVM
 * requires are required; unknown keys are skipped.
 */
#include "amdgpu_metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msgpack_scan.h"
#include "text.h"

/* Limits above any compiler's output; they bound memory for a hostile note. */
#define KERNELS_MAX 65536
#define ARGS_MAX 4096
#define ARG_END_MAX (1u << 20)
#define NOTE_NBYTES_MAX ((size_t)16 << 20)

/* What follows a key in a map, up to the end of the note; .at is NULL without
 * the key. The whole note has been walked: objects are whole. */
typedef struct msgpack value;

static bool is_text(value v, const char *text)
{
    const char *at;
    size_t nbytes;

    return v.at && msgpack_take_text(&v, &at, &nbytes) &&
           nbytes == strlen(text) && memcmp(at, text, nbytes) == 0;
}

/* The value of a key; none if this is no map. */
static value get(value map, const char *key)
{
    uint64_t n;

    if (!map.at || !msgpack_take_map(&map, &n))
        return (value){NULL, NULL};
    while (n--) {
        const bool found = is_text(map, key);

        (void)msgpack_skip(&map);
        if (found)
            return map;
        (void)msgpack_skip(&map);
    }
    return (value){NULL, NULL};
}

/* A copy of a text without NUL bytes inside, NULL if it is none. */
static char *copy_text(value v)
{
    const char *text;
    size_t nbytes;

    if (!v.at || !msgpack_take_text(&v, &text, &nbytes) ||
        memchr(text, 0, nbytes))
        return NULL;
    return text_copy(text, nbytes);
}

/* An unsigned integer or a boolean not above max; false if it is neither. */
static bool get_uint(value v, uint64_t max, uint64_t *out)
{
    enum { FALSE = 0xc2, TRUE = 0xc3 };

    if (!v.at)
        return false;
    if (*v.at == FALSE || *v.at == TRUE)
        *out = *v.at == TRUE;
    else if (!msgpack_take_number(&v, out))
        return false;
    return *out <= max;
}

/* The integers of a kernel's map, and the fields that get them. */
struct field {
    const char *key;
    bool required;
    size_t offset;
    size_t nbytes;
};

#define FIELD(key, required, member)                                           \
    {                                                                          \
        key, required, offsetof(struct kpk_kernel_attrs, member),              \
            sizeof(((struct kpk_kernel_attrs *)0)->member)                     \
    }
static const struct field fields[] = {
    FIELD(".kernarg_segment_size", true, kernarg_nbytes),
    FIELD(".kernarg_segment_align", true, kernarg_align),
    FIELD(".group_segment_fixed_size", true, lds_nbytes),
    FIELD(".private_segment_fixed_size", true, scratch_nbytes),
    FIELD(".max_flat_workgroup_size", true, max_block),
    FIELD(".vgpr_count", true, vgprs),
    FIELD(".agpr_count", false, agprs),
    FIELD(".sgpr_count", false, sgprs),
    FIELD(".vgpr_spill_count", false, vgpr_spills),
    FIELD(".sgpr_spill_count", false, sgpr_spills),
    FIELD(".wavefront_size", true, wave_size),
    FIELD(".uses_dynamic_stack", false, uses_dynamic_stack),
};

static void store(struct kpk_kernel_attrs *attrs, const struct field *f,
                  uint64_t number)
{
    unsigned char *at = (unsigned char *)attrs + f->offset;

    switch (f->nbytes) {
    case 1:
        *at = (uint8_t)number;
        break;
    case 2:
        memcpy(at, &(uint16_t){(uint16_t)number}, 2);
        break;
    default:
        memcpy(at, &(uint32_t){(uint32_t)number}, 4);
        break;
    }
}

static bool read_fields(struct codeobj_kernel *k, value map,
                        char error[CODEOBJ_ERROR_MAX])
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct field *f = &fields[i];
        const value v = get(map, f->key);
        uint64_t max = UINT64_MAX >> (64 - 8 * f->nbytes);
        uint64_t number = 0;

        if (!v.at && !f->required)
            continue;
        if (!get_uint(v, max, &number))
            return codeobj_fail(error, "kernel %s: %s is %s", k->name, f->key,
                                v.at ? "no number that it can be" : "missing");
        store(&k->attrs, f, number);
    }
    if (k->attrs.wave_size != 32 && k->attrs.wave_size != 64)
        return codeobj_fail(
            error, "kernel %s: .wavefront_size is %u, neither 32 nor 64",
            k->name, (unsigned)k->attrs.wave_size);
    return true;
}

static bool read_reqd_block(struct codeobj_kernel *k, value map,
                            char error[CODEOBJ_ERROR_MAX])
{
    value v = get(map, ".reqd_workgroup_size");
    uint64_t n;

    if (!v.at)
        return true;
    if (!msgpack_take_list(&v, &n) || n != 3)
        return codeobj_fail(
            error, "kernel %s: .reqd_workgroup_size is no triple", k->name);
    for (int i = 0; i < 3; i++) {
        uint64_t number;

        if (!get_uint(v, UINT32_MAX, &number))
            return codeobj_fail(
                error, "kernel %s: .reqd_workgroup_size is no triple", k->name);
        k->attrs.reqd_block[i] = (uint32_t)number;
        (void)msgpack_skip(&v);
    }
    return true;
}

static enum kpk_arg_kind kind_of(value kind)
{
    if (is_text(kind, "by_value"))
        return KPK_ARG_BY_VALUE;
    if (is_text(kind, "global_buffer"))
        return KPK_ARG_GLOBAL_BUFFER;
    if (is_text(kind, "dynamic_shared_pointer"))
        return KPK_ARG_DYNAMIC_SHARED_POINTER;
    return KPK_ARG_OTHER;
}

static bool is_hidden(const char *kind, size_t nbytes)
{
    return nbytes >= 7 && memcmp(kind, "hidden_", 7) == 0;
}

static bool read_arg(struct codeobj_kernel *k, value map,
                     char error[CODEOBJ_ERROR_MAX])
{
    value kind = get(map, ".value_kind"), kind_behind = kind;
    const struct codeobj_arg *last = k->nargs ? &k->args[k->nargs - 1] : NULL;
    struct codeobj_arg *arg = &k->args[k->nargs];
    const value name = get(map, ".name");
    const char *kind_text;
    size_t kind_nbytes;
    uint64_t offset, size;

    if (!kind.at ||
        !msgpack_take_text(&kind_behind, &kind_text, &kind_nbytes) ||
        !get_uint(get(map, ".offset"), UINT32_MAX, &offset) ||
        !get_uint(get(map, ".size"), UINT32_MAX, &size))
        return codeobj_fail(error,
                            "kernel %s: an argument without .offset, .size or "
                            ".value_kind",
                            k->name);
    /* .kernarg_segment_size is no limit: some hand-written kernels list
     * arguments beyond it. */
    if (offset + size > ARG_END_MAX)
        return codeobj_fail(error,
                            "kernel %s: an argument ends at byte %" PRIu64
                            ", past any argument segment",
                            k->name, offset + size);
    if (is_hidden(kind_text, kind_nbytes)) {
        k->attrs.has_hidden_args = 1;
        return true;
    }
    if (last && offset < last->offset + last->size)
        return codeobj_fail(
            error, "kernel %s: argument %zu overlaps the one before it",
            k->name, k->nargs);
    arg->name = name.at ? copy_text(name) : strdup("");
    if (!arg->name)
        return codeobj_fail(
            error, "kernel %s: an argument's .name is no string", k->name);
    arg->offset = (uint32_t)offset;
    arg->size = (uint32_t)size;
    arg->kind = kind_of(kind);
    k->nargs++;
    return true;
}

static bool read_args(struct codeobj_kernel *k, value map,
                      char error[CODEOBJ_ERROR_MAX])
{
    value args = get(map, ".args");
    uint64_t n;

    if (!args.at)
        return true;
    if (!msgpack_take_list(&args, &n) || n > ARGS_MAX)
        return codeobj_fail(
            error, "kernel %s: .args is no list that can be read", k->name);
    k->args = calloc((size_t)n + 1, sizeof(*k->args));
    if (!k->args)
        return codeobj_fail(error, "out of memory");
    for (; n; n--) {
        if (!read_arg(k, args, error))
            return false;
        (void)msgpack_skip(&args);
    }
    return true;
}

static bool read_kernel(struct codeobj *co, value map,
                        char error[CODEOBJ_ERROR_MAX])
{
    struct codeobj_kernel *k = &co->kernels[co->nkernels];

    k->name = copy_text(get(map, ".name"));
    if (!k->name || !*k->name) {
        free(k->name);
        k->name = NULL;
        return codeobj_fail(error, "a kernel without a name");
    }
    co->nkernels++;
    return read_fields(k, map, error) && read_reqd_block(k, map, error) &&
           read_args(k, map, error);
}

static bool read_kernels(struct codeobj *co, value root,
                         char error[CODEOBJ_ERROR_MAX])
{
    value list = get(root, "amdhsa.kernels");
    const char *twice;
    uint64_t n;

    if (!list.at)
        return true;
    if (!msgpack_take_list(&list, &n) || n > KERNELS_MAX)
        return codeobj_fail(error,
                            "amdhsa.kernels is no list that can be read");
    co->kernels = calloc((size_t)n + 1, sizeof(*co->kernels));
    if (!co->kernels)
        return codeobj_fail(error, "out of memory");
    for (; n; n--) {
        if (!read_kernel(co, list, error))
            return false;
        (void)msgpack_skip(&list);
    }
    twice = codeobj_sort(co);
    if (twice)
        return codeobj_fail(error, "two kernels are called %s", twice);
    return true;
}

bool amdgpu_metadata_read(struct codeobj *co, const void *note, size_t nbytes,
                          char error[CODEOBJ_ERROR_MAX])
{
    const value root = {note, (const uint8_t *)note + nbytes};
    value map = root;
    uint64_t n;

    if (nbytes > NOTE_NBYTES_MAX)
        return codeobj_fail(error, "the metadata note has %zu bytes", nbytes);
    if (!msgpack_scan(note, nbytes))
        return codeobj_fail(error,
                            "the metadata note is not a msgpack map, whole and "
                            "of a depth that makes sense");
    if (!msgpack_take_map(&map, &n))
        return codeobj_fail(error, "the metadata note is not a msgpack map");
    return read_kernels(co, root, error);
}
