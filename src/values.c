/* values.c - lays typed values out as a kernel's packed arguments, and launches
 * with them */
#include "error.h"
#include "instance.h"
#include "launch.h"
#include "module.h"

#include <string.h>

enum { SLOT_NBYTES = 16 };

static kpk_status check_value(kpk_layout layout, const kpk_value *value,
                              size_t i)
{
    if (value->nbytes == 0 ||
        (!value->at && value->nbytes > sizeof(value->bits)))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_values_pack: value %zu is empty: kpk_bytes() "
                          "was given a NULL address or a size of 0",
                          i);
    if (value->align == 0 || (value->align & (value->align - 1)) != 0)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_values_pack: value %zu has an alignment of %zu, "
                          "which is no power of two",
                          i, value->align);
    if (layout == KPK_LAYOUT_SLOTS && value->align > SLOT_NBYTES)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_values_pack: value %zu has an alignment of %zu, "
                          "slots have %d",
                          i, value->align, SLOT_NBYTES);
    return KPK_OK;
}

/* Moves *at up to a multiple of `align`; false if there is none in size_t. */
static bool align_up(size_t *at, size_t align)
{
    if (*at > SIZE_MAX - (align - 1))
        return false;
    *at = (*at + align - 1) & ~(align - 1);
    return true;
}

/* Where value i begins; *end receives where the next one may. */
static kpk_status place(kpk_layout layout, const kpk_value *value, size_t i,
                        size_t *begin, size_t *end)
{
    const bool slots = layout == KPK_LAYOUT_SLOTS;
    kpk_status st = check_value(layout, value, i);

    if (st != KPK_OK)
        return st;
    if (!align_up(begin, slots ? SLOT_NBYTES : value->align) ||
        value->nbytes > SIZE_MAX - *begin)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_values_pack: with value %zu of %zu bytes the "
                          "buffer would be larger than memory",
                          i, value->nbytes);
    *end = *begin + value->nbytes;
    if (slots && !align_up(end, SLOT_NBYTES))
        *end = SIZE_MAX; /* larger than any buffer */
    return KPK_OK;
}

static void store(const kpk_value *value, unsigned char *to)
{
    if (value->at) {
        memcpy(to, value->at, value->nbytes);
        return;
    }
    for (size_t i = 0; i < value->nbytes; i++) /* GPUs are little-endian */
        to[i] = (unsigned char)(value->bits >> 8 * i);
}

static kpk_status measure(kpk_layout layout, const kpk_value *values, size_t n,
                          size_t *out)
{
    size_t end = 0;

    for (size_t i = 0; i < n; i++) {
        size_t begin = end;
        kpk_status st = place(layout, &values[i], i, &begin, &end);

        if (st != KPK_OK)
            return st;
    }
    *out = end;
    return KPK_OK;
}

kpk_status kpk_values_pack(kpk_layout layout, const kpk_value *values, size_t n,
                           void *buffer, size_t room, size_t *nbytes)
{
    size_t needed = 0;
    size_t end = 0;
    kpk_status st;

    if (n)
        KPK_I_NEED(values);
    if (room)
        KPK_I_NEED(buffer);
    if (layout != KPK_LAYOUT_NATURAL && layout != KPK_LAYOUT_SLOTS)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_values_pack: there is no layout %d, only "
                          "KPK_LAYOUT_NATURAL and KPK_LAYOUT_SLOTS",
                          (int)layout);
    st = measure(layout, values, n, &needed);
    if (st != KPK_OK)
        return st;
    if (buffer && room < needed)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_values_pack: %zu values need %zu bytes, the "
                          "buffer has %zu",
                          n, needed, room);
    if (buffer && needed)
        memset(buffer, 0, needed);
    for (size_t i = 0; buffer && i < n; i++) {
        size_t begin = end;

        (void)place(layout, &values[i], i, &begin, &end);
        store(&values[i], (unsigned char *)buffer + begin);
    }
    if (nbytes)
        *nbytes = needed;
    return KPK_OK;
}

/* ---- launching with values ---- */

/* A value's place in the buffer, for messages. */
struct placed {
    size_t number;
    size_t begin;
    size_t end;
};

static kpk_status no_value(const kpk_kernel *kernel, uint32_t entry,
                           const struct placed *value)
{
    const kpk_module *module = kernel->slot->module;
    const struct kpk_arg_desc *arg =
        &module->args[kernel->desc->first_arg + entry];
    char text[KPK_I_ARG_TEXT_NBYTES];

    return kpk_i_fail(
        KPK_ERR_KERNEL_ARGS,
        "%s: %s lies at bytes %u to %u, but value %zu at bytes %zu to %zu. Is "
        "it the other layout, or a value too many or too few?",
        kpk_kernel_name(kernel),
        kpk_i_arg_text(module, kernel->desc, entry, entry, text),
        (unsigned)arg->offset, (unsigned)(arg->offset + arg->size - 1),
        value->number, value->begin, value->end - 1);
}

/* Whether a value is a whole entry, or a part of an entry that is a struct. */
static bool belongs(const struct kpk_arg_desc *arg, const struct placed *value)
{
    const size_t end = (size_t)arg->offset + arg->size;

    if (value->begin == arg->offset && value->end == end)
        return true;
    return arg->kind == KPK_ARG_BY_VALUE && arg->size > sizeof(uint64_t) &&
           value->begin >= arg->offset && value->end <= end;
}

/* Entries ascend by offset (the build refuses others), and so do values, so one
 * pass matches them. */
struct walk {
    const kpk_kernel *kernel;
    uint32_t entry; /* the next entry without a value */
    uint32_t large; /* the struct that the last value was a part of, or none */
};

static kpk_status match_value(struct walk *w, const struct placed *value)
{
    const kpk_module *module = w->kernel->slot->module;
    const struct kpk_kernel_desc *desc = w->kernel->desc;
    const struct kpk_arg_desc *args = module->args + desc->first_arg;

    if (w->large < desc->nargs && belongs(&args[w->large], value))
        return KPK_OK;
    while (w->entry < desc->nargs &&
           kpk_i_arg_is_padding(module, desc, w->entry))
        w->entry++;
    if (w->entry == desc->nargs) { /* behind the list, or in its padding */
        if (value->begin >= desc->explicit_nbytes)
            return KPK_OK;
        return kpk_i_fail(KPK_ERR_KERNEL_ARGS,
                          "%s has no argument at bytes %zu to %zu, where value "
                          "%zu lies",
                          kpk_kernel_name(w->kernel), value->begin,
                          value->end - 1, value->number);
    }
    if (!belongs(&args[w->entry], value))
        return no_value(w->kernel, w->entry, value);
    w->large = w->entry++;
    return KPK_OK;
}

/* kpk_launch_packed() finds values missing at the end. */
static kpk_status check_values(const kpk_kernel *kernel, kpk_layout layout,
                               const kpk_value *values, size_t n)
{
    struct walk w = {kernel, 0, UINT32_MAX};
    size_t next = 0;

    if (kernel->unlisted_nbytes)
        return KPK_OK; /* nothing to hold them against but the size */
    for (size_t i = 0; i < n; i++) {
        struct placed value = {i, next, 0};
        kpk_status st;

        /* kpk_values_pack() has found it right */
        (void)place(layout, &values[i], i, &value.begin, &next);
        value.end = value.begin + values[i].nbytes;
        st = match_value(&w, &value);
        if (st != KPK_OK)
            return st;
    }
    return KPK_OK;
}

kpk_status kpk_launch_values(const kpk_kernel *kernel, const kpk_shape *shape,
                             void *stream, kpk_layout layout,
                             const kpk_value *values, size_t n)
{
    _Alignas(SLOT_NBYTES) unsigned char buffer[KPK_MAX_PACKED];
    size_t nbytes = 0;
    kpk_status st;

    KPK_I_NEED(kernel);
    KPK_I_NEED(shape);
    st = kpk_i_check_launch(kernel, shape);
    if (st == KPK_OK)
        st =
            kpk_values_pack(layout, values, n, buffer, sizeof(buffer), &nbytes);
    if (st == KPK_OK)
        st = check_values(kernel, layout, values, n);
    if (st == KPK_OK)
        st = kpk_launch_packed(kernel, shape, stream, buffer, nbytes);
    return st;
}
