/* amdgpu_metadata.c - reads the msgpack metadata note of a code object
 *
 * Keys and kinds: LLVM AMDGPUUsage, "Code Object Metadata". Keys that LLVM
 * requires are required; unknown keys are skipped.
 */
#include "read/amdgpu_metadata.h"

#include <inttypes.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack_scan.h"

/* More than any compiler makes; bounds what a hostile note can ask for. */
#define KERNELS_MAX 65536
#define ARGS_MAX 4096
#define ARG_END_MAX (1u << 20)
#define NOTE_NBYTES_MAX ((size_t)16 << 20)

static bool is_string(const msgpack_object *o, const char *text)
{
    return o && o->type == MSGPACK_OBJECT_STR &&
           o->via.str.size == strlen(text) &&
           memcmp(o->via.str.ptr, text, o->via.str.size) == 0;
}

/* The value of a key, NULL if absent or if this is no map. */
static const msgpack_object *get(const msgpack_object *map, const char *key)
{
    if (!map || map->type != MSGPACK_OBJECT_MAP)
        return NULL;
    for (uint32_t i = 0; i < map->via.map.size; i++)
        if (is_string(&map->via.map.ptr[i].key, key))
            return &map->via.map.ptr[i].val;
    return NULL;
}

/* A copy of a string value without NUL bytes inside, NULL if it is none. */
static char *copy_string(const msgpack_object *o)
{
    if (!o || o->type != MSGPACK_OBJECT_STR ||
        memchr(o->via.str.ptr, 0, o->via.str.size))
        return NULL;
    return strndup(o->via.str.ptr, o->via.str.size);
}

/* An unsigned integer or a boolean not above max; false if it is neither. */
static bool get_uint(const msgpack_object *o, uint64_t max, uint64_t *out)
{
    if (!o)
        return false;
    if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        *out = o->via.u64;
    else if (o->type == MSGPACK_OBJECT_BOOLEAN)
        *out = o->via.boolean;
    else
        return false;
    return *out <= max;
}

/* The integers of a kernel's map and where they go. */
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
                  uint64_t value)
{
    unsigned char *at = (unsigned char *)attrs + f->offset;

    switch (f->nbytes) {
    case 1:
        *at = (uint8_t)value;
        break;
    case 2:
        memcpy(at, &(uint16_t){(uint16_t)value}, 2);
        break;
    default:
        memcpy(at, &(uint32_t){(uint32_t)value}, 4);
        break;
    }
}

static bool read_fields(struct codeobj_kernel *k, const msgpack_object *map,
                        char error[CODEOBJ_ERROR_MAX])
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct field *f = &fields[i];
        const msgpack_object *o = get(map, f->key);
        uint64_t max = UINT64_MAX >> (64 - 8 * f->nbytes);
        uint64_t value = 0;

        if (!o && !f->required)
            continue;
        if (!get_uint(o, max, &value))
            return codeobj_fail(error, "kernel %s: %s is %s", k->name, f->key,
                                o ? "no number that it can be" : "missing");
        store(&k->attrs, f, value);
    }
    if (k->attrs.wave_size != 32 && k->attrs.wave_size != 64)
        return codeobj_fail(
            error, "kernel %s: .wavefront_size is %u, neither 32 nor 64",
            k->name, (unsigned)k->attrs.wave_size);
    return true;
}

static bool read_reqd_block(struct codeobj_kernel *k, const msgpack_object *map,
                            char error[CODEOBJ_ERROR_MAX])
{
    const msgpack_object *o = get(map, ".reqd_workgroup_size");

    if (!o)
        return true;
    if (o->type != MSGPACK_OBJECT_ARRAY || o->via.array.size != 3)
        return codeobj_fail(
            error, "kernel %s: .reqd_workgroup_size is no triple", k->name);
    for (int i = 0; i < 3; i++) {
        uint64_t value;

        if (!get_uint(&o->via.array.ptr[i], UINT32_MAX, &value))
            return codeobj_fail(
                error, "kernel %s: .reqd_workgroup_size is no triple", k->name);
        k->attrs.reqd_block[i] = (uint32_t)value;
    }
    return true;
}

static enum kpk_arg_kind kind_of(const msgpack_object *kind)
{
    if (is_string(kind, "by_value"))
        return KPK_ARG_BY_VALUE;
    if (is_string(kind, "global_buffer"))
        return KPK_ARG_GLOBAL_BUFFER;
    if (is_string(kind, "dynamic_shared_pointer"))
        return KPK_ARG_DYNAMIC_SHARED_POINTER;
    return KPK_ARG_OTHER;
}

static bool is_hidden(const msgpack_object *kind)
{
    return kind->via.str.size >= 7 &&
           memcmp(kind->via.str.ptr, "hidden_", 7) == 0;
}

static bool read_arg(struct codeobj_kernel *k, const msgpack_object *map,
                     char error[CODEOBJ_ERROR_MAX])
{
    const msgpack_object *kind = get(map, ".value_kind");
    const struct codeobj_arg *last = k->nargs ? &k->args[k->nargs - 1] : NULL;
    struct codeobj_arg *arg = &k->args[k->nargs];
    const msgpack_object *name = get(map, ".name");
    uint64_t offset, size;

    if (!kind || kind->type != MSGPACK_OBJECT_STR ||
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
    if (is_hidden(kind)) {
        k->attrs.has_hidden_args = 1;
        return true;
    }
    if (last && offset < last->offset + last->size)
        return codeobj_fail(
            error, "kernel %s: argument %zu overlaps the one before it",
            k->name, k->nargs);
    arg->name = name ? copy_string(name) : strdup("");
    if (!arg->name)
        return codeobj_fail(
            error, "kernel %s: an argument's .name is no string", k->name);
    arg->offset = (uint32_t)offset;
    arg->size = (uint32_t)size;
    arg->kind = kind_of(kind);
    k->nargs++;
    return true;
}

static bool read_args(struct codeobj_kernel *k, const msgpack_object *map,
                      char error[CODEOBJ_ERROR_MAX])
{
    const msgpack_object *args = get(map, ".args");

    if (!args)
        return true;
    if (args->type != MSGPACK_OBJECT_ARRAY || args->via.array.size > ARGS_MAX)
        return codeobj_fail(
            error, "kernel %s: .args is no list that can be read", k->name);
    k->args = calloc((size_t)args->via.array.size + 1, sizeof(*k->args));
    if (!k->args)
        return codeobj_fail(error, "out of memory");
    for (uint32_t i = 0; i < args->via.array.size; i++)
        if (!read_arg(k, &args->via.array.ptr[i], error))
            return false;
    return true;
}

static bool read_kernel(struct codeobj *co, const msgpack_object *map,
                        char error[CODEOBJ_ERROR_MAX])
{
    struct codeobj_kernel *k = &co->kernels[co->nkernels];

    k->name = copy_string(get(map, ".name"));
    if (!k->name || !*k->name) {
        free(k->name);
        k->name = NULL;
        return codeobj_fail(error, "a kernel without a name");
    }
    co->nkernels++;
    return read_fields(k, map, error) && read_reqd_block(k, map, error) &&
           read_args(k, map, error);
}

static bool read_kernels(struct codeobj *co, const msgpack_object *root,
                         char error[CODEOBJ_ERROR_MAX])
{
    const msgpack_object *list = get(root, "amdhsa.kernels");
    const char *twice;

    if (!list)
        return true;
    if (list->type != MSGPACK_OBJECT_ARRAY ||
        list->via.array.size > KERNELS_MAX)
        return codeobj_fail(error,
                            "amdhsa.kernels is no list that can be read");
    co->kernels =
        calloc((size_t)list->via.array.size + 1, sizeof(*co->kernels));
    if (!co->kernels)
        return codeobj_fail(error, "out of memory");
    for (uint32_t i = 0; i < list->via.array.size; i++)
        if (!read_kernel(co, &list->via.array.ptr[i], error))
            return false;
    twice = codeobj_sort(co);
    if (twice)
        return codeobj_fail(error, "two kernels are called %s", twice);
    return true;
}

bool amdgpu_metadata_read(struct codeobj *co, const void *note, size_t nbytes,
                          char error[CODEOBJ_ERROR_MAX])
{
    msgpack_unpacked result;
    size_t offset = 0;
    bool ok;

    if (nbytes > NOTE_NBYTES_MAX)
        return codeobj_fail(error, "the metadata note has %zu bytes", nbytes);
    if (!msgpack_scan(note, nbytes))
        return codeobj_fail(error,
                            "the metadata note is not a msgpack map, whole and "
                            "of a depth that makes sense");
    msgpack_unpacked_init(&result);
    if (msgpack_unpack_next(&result, note, nbytes, &offset) !=
            MSGPACK_UNPACK_SUCCESS ||
        result.data.type != MSGPACK_OBJECT_MAP)
        ok = codeobj_fail(error, "the metadata note is not a msgpack map");
    else
        ok = read_kernels(co, &result.data, error);
    msgpack_unpacked_destroy(&result);
    return ok;
}
