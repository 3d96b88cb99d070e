/* values.c - lays typed values out as a kernel's packed arguments */
#include "internal.h"

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
        *end = SIZE_MAX; /* no room is that large */
    return KPK_OK;
}

static void store(const kpk_value *value, unsigned char *to)
{
    if (value->at) {
        memcpy(to, value->at, value->nbytes);
        return;
    }
    for (size_t i = 0; i < value->nbytes; i++) /* little-endian, as GPUs are */
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

    if ((n && !values) || (room && !buffer))
        return kpk_i_fail(KPK_ERR_ARG, "kpk_values_pack: %s is NULL",
                          n && !values ? "values" : "buffer");
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
