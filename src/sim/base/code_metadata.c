/* code_metadata.c - the kernels that a code object's metadata note describes
 *
 * The note is a map in MessagePack (AMDGPUUsage, "Code Object Metadata"). Each
 * kernel's entry is checked against the loaded symbols and segments.
 */
#define _GNU_SOURCE
#include "code_metadata.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOTE_METADATA = 32, /* NT_AMDGPU_METADATA */
    DESCRIPTOR_NBYTES = 64,
    ARG_END_MAX = 1 << 20
};

static const msgpack_object *member(const msgpack_object *map, const char *key)
{
    size_t n = strlen(key);
    uint32_t i;

    if (!map || map->type != MSGPACK_OBJECT_MAP)
        return NULL;
    for (i = 0; i < map->via.map.size; i++) {
        const msgpack_object_kv *kv = &map->via.map.ptr[i];

        if (kv->key.type == MSGPACK_OBJECT_STR && kv->key.via.str.size == n &&
            memcmp(kv->key.via.str.ptr, key, n) == 0)
            return &kv->val;
    }
    return NULL;
}

static uint32_t number(const msgpack_object *map, const char *key,
                       uint32_t otherwise)
{
    const msgpack_object *v = member(map, key);

    if (v && v->type == MSGPACK_OBJECT_BOOLEAN)
        return v->via.boolean;
    if (!v || v->type != MSGPACK_OBJECT_POSITIVE_INTEGER ||
        v->via.u64 > UINT32_MAX)
        return otherwise;
    return (uint32_t)v->via.u64;
}

static char *text(const msgpack_object *map, const char *key)
{
    const msgpack_object *v = member(map, key);

    if (!v || v->type != MSGPACK_OBJECT_STR)
        return NULL;
    return strndup(v->via.str.ptr, v->via.str.size);
}

static bool is_hidden(const struct sim_arg *arg)
{
    return strncmp(arg->value_kind, "hidden_", 7) == 0;
}

static enum sim_load_status read_args(struct loader *l, struct sim_kernel *k,
                                      const msgpack_object *map)
{
    const msgpack_object *list = member(map, ".args");
    uint32_t i, n, pass;

    if (!list || list->type != MSGPACK_OBJECT_ARRAY)
        return SIM_LOAD_OK; /* a kernel without a list gets no arguments */
    n = list->via.array.size;
    k->args = calloc((size_t)n + 1, sizeof(k->args[0]));
    if (!k->args)
        return sim_load_fail(l, SIM_LOAD_NO_MEMORY,
                             "no memory for the arguments");
    for (pass = 0; pass < 2; pass++) { /* explicit ones first, then hidden */
        for (i = 0; i < n; i++) {
            const msgpack_object *a = &list->via.array.ptr[i];
            const msgpack_object *kind = member(a, ".value_kind");
            struct sim_arg *arg = &k->args[k->nargs];

            memset(arg, 0, sizeof(*arg));
            if (kind && kind->type == MSGPACK_OBJECT_STR &&
                kind->via.str.size < sizeof(arg->value_kind))
                memcpy(arg->value_kind, kind->via.str.ptr, kind->via.str.size);
            arg->offset = number(a, ".offset", UINT32_MAX);
            arg->size = number(a, ".size", UINT32_MAX);
            arg->pointee_align = number(a, ".pointee_align", 1);
            if (is_hidden(arg) != (pass == 1))
                continue;
            /* Not held against the segment's size: hand-written kernels
             * exist whose list goes on beyond it. */
            if ((uint64_t)arg->offset + arg->size > ARG_END_MAX)
                return sim_load_fail(
                    l, SIM_LOAD_CORRUPT,
                    "argument %u of kernel %.150s ends past any segment of "
                    "arguments",
                    i, k->name);
            arg->name = text(a, ".name");
            k->nargs++;
        }
        if (pass == 0)
            k->nexplicit = k->nargs;
    }
    return SIM_LOAD_OK;
}

static enum sim_load_status
find_descriptor(struct loader *l, struct sim_kernel *k, const char *symbol)
{
    const struct sim_code_object *o = l->object;
    uint64_t vaddr;
    const uint8_t *p;
    int64_t entry;
    uint32_t i;

    for (i = 0; i < o->nglobals; i++)
        if (strcmp(o->globals[i].name, symbol) == 0)
            break;
    if (i == o->nglobals)
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "kernel symbol %.200s is missing", symbol);
    k->descriptor = o->globals[i].address;
    vaddr = k->descriptor - sim_load_address(l, 0);
    p = sim_load_at_image(l, vaddr, DESCRIPTOR_NBYTES);
    if (!p || o->globals[i].size != DESCRIPTOR_NBYTES)
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "%.200s is not a kernel descriptor", symbol);
    memcpy(&entry, p + 16, sizeof(entry));
    if (!sim_load_at_image(l, vaddr + (uint64_t)entry, 4))
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "the code of %.200s lies outside the segments",
                             symbol);
    k->entry = k->descriptor + (uint64_t)entry;
    return SIM_LOAD_OK;
}

static enum sim_load_status read_kernel(struct loader *l, struct sim_kernel *k,
                                        const msgpack_object *map)
{
    const msgpack_object *reqd = member(map, ".reqd_workgroup_size");
    enum sim_load_status status;
    char *symbol = text(map, ".symbol");
    uint32_t i;

    k->name = text(map, ".name");
    if (!k->name || !symbol) {
        free(symbol);
        return sim_load_fail(l, SIM_LOAD_CORRUPT,
                             "a kernel has no name or symbol");
    }
    status = find_descriptor(l, k, symbol);
    free(symbol);
    if (status != SIM_LOAD_OK)
        return status;
    k->kernarg_nbytes = number(map, ".kernarg_segment_size", 0);
    k->kernarg_align = number(map, ".kernarg_segment_align", 8);
    k->lds_nbytes = number(map, ".group_segment_fixed_size", 0);
    k->scratch_nbytes = number(map, ".private_segment_fixed_size", 0);
    k->max_block = number(map, ".max_flat_workgroup_size", 1024);
    k->vgprs = number(map, ".vgpr_count", 0);
    k->agprs = number(map, ".agpr_count", 0);
    k->sgprs = number(map, ".sgpr_count", 0);
    k->wave_size =
        number(map, ".wavefront_size", l->object->device->target->default_wave);
    k->sgpr_spills = number(map, ".sgpr_spill_count", 0);
    k->vgpr_spills = number(map, ".vgpr_spill_count", 0);
    k->uses_dynamic_stack = number(map, ".uses_dynamic_stack", 0) != 0;
    k->uniform_work_group_size =
        number(map, ".uniform_work_group_size", 0) != 0;
    if (reqd && reqd->type == MSGPACK_OBJECT_ARRAY && reqd->via.array.size == 3)
        for (i = 0; i < 3; i++)
            k->reqd_block[i] = (uint32_t)reqd->via.array.ptr[i].via.u64;
    return read_args(l, k, map);
}

static enum sim_load_status read_kernels(struct loader *l,
                                         const msgpack_object *root)
{
    const msgpack_object *list = member(root, "amdhsa.kernels");
    struct sim_code_object *o = l->object;
    enum sim_load_status status;
    uint32_t i;

    if (!list || list->type != MSGPACK_OBJECT_ARRAY)
        return SIM_LOAD_OK; /* an object with variables only */
    o->kernels =
        calloc((size_t)list->via.array.size + 1, sizeof(o->kernels[0]));
    if (!o->kernels)
        return sim_load_fail(l, SIM_LOAD_NO_MEMORY,
                             "no memory for the kernels");
    for (i = 0; i < list->via.array.size; i++) {
        o->nkernels++; /* counted first, so that a failure frees it, too */
        status = read_kernel(l, &o->kernels[i], &list->via.array.ptr[i]);
        if (status != SIM_LOAD_OK)
            return status;
    }
    return SIM_LOAD_OK;
}

/* "0:0:HASH,FORMAT", of -mprintf-kind=buffered; OpenCL's are left out. */
static bool read_format(const char *row, struct sim_format *out)
{
    char *end;

    if (strncmp(row, "0:0:", 4) != 0)
        return true;
    out->hash = strtoull(row + 4, &end, 16);
    if (*end != ',')
        return true;
    out->text = strdup(end + 1);
    return out->text != NULL;
}

static enum sim_load_status read_formats(struct loader *l,
                                         const msgpack_object *root)
{
    const msgpack_object *list = member(root, "amdhsa.printf");
    struct sim_code_object *o = l->object;
    bool ok = true;
    uint32_t i;

    if (!list || list->type != MSGPACK_OBJECT_ARRAY)
        return SIM_LOAD_OK;
    o->formats =
        calloc((size_t)list->via.array.size + 1, sizeof(o->formats[0]));
    for (i = 0; ok && o->formats && i < list->via.array.size; i++) {
        const msgpack_object *v = &list->via.array.ptr[i];
        char *row = v->type == MSGPACK_OBJECT_STR
                        ? strndup(v->via.str.ptr, v->via.str.size)
                        : strdup("");

        ok = row && read_format(row, &o->formats[o->nformats]);
        o->nformats += ok && o->formats[o->nformats].text;
        free(row);
    }
    return ok && o->formats ? SIM_LOAD_OK
                            : sim_load_fail(l, SIM_LOAD_NO_MEMORY,
                                            "no memory for the formats");
}

/* The payload of the metadata note, from the file: it need not be loaded. */
static const char *find_note(const struct loader *l, size_t *n)
{
    unsigned i;

    for (i = 0; i < l->header.e_phnum; i++) {
        Elf64_Phdr p;
        uint64_t at = 0;

        memcpy(&p, l->file + l->header.e_phoff + i * sizeof(p), sizeof(p));
        if (p.p_type != PT_NOTE || !sim_load_at_file(l, p.p_offset, p.p_filesz))
            continue;
        while (at + sizeof(Elf64_Nhdr) <= p.p_filesz) {
            const uint8_t *note = l->file + p.p_offset + at;
            Elf64_Nhdr h;
            uint64_t name, payload;

            memcpy(&h, note, sizeof(h));
            name = ((uint64_t)h.n_namesz + 3) & ~3ull;
            payload = ((uint64_t)h.n_descsz + 3) & ~3ull;
            if (sizeof(h) + name + h.n_descsz > p.p_filesz - at)
                break;
            if (h.n_type == NOTE_METADATA && h.n_namesz == 7 &&
                memcmp(note + sizeof(h), "AMDGPU", 7) == 0) {
                *n = h.n_descsz;
                return (const char *)note + sizeof(h) + name;
            }
            at += sizeof(h) + name + payload;
        }
    }
    return NULL;
}

enum sim_load_status sim_load_metadata(struct loader *l)
{
    enum sim_load_status status;
    msgpack_unpacked result;
    size_t n = 0, offset = 0;
    const char *note = find_note(l, &n);

    if (!note)
        return SIM_LOAD_OK;
    msgpack_unpacked_init(&result);
    if (msgpack_unpack_next(&result, note, n, &offset) !=
        MSGPACK_UNPACK_SUCCESS)
        status =
            sim_load_fail(l, SIM_LOAD_CORRUPT, "the metadata cannot be read");
    else
        status = read_kernels(l, &result.data);
    if (status == SIM_LOAD_OK)
        status = read_formats(l, &result.data);
    msgpack_unpacked_destroy(&result);
    return status;
}
