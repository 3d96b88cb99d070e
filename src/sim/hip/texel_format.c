/* texel_format.c - elements of arrays, in HIP's words and the hardware's */
#include "texel_format.h"

#include "../base/image_descriptor.h"

enum { ONE, TWO, FOUR, NCOUNTS }; /* channels */

/*
 * In the order of hipResourceViewFormat, which gives each format three numbers,
 * for one, two and four channels, from 1 on. The last two columns are HSA's
 * numbers of channel types: as elements, and as fractions.
 */
/* clang-format off */
static const struct format {
    int number, bits, kind;
    uint32_t type, normalized;
} formats[] = {
    {0x01,  8, KIND_UNSIGNED, 11,  2},
    {0x08,  8, KIND_SIGNED,    8,  0},
    {0x02, 16, KIND_UNSIGNED, 12,  3},
    {0x09, 16, KIND_SIGNED,    9,  1},
    {0x03, 32, KIND_UNSIGNED, 13, 13},
    {0x0a, 32, KIND_SIGNED,   10, 10},
    {0x10, 16, KIND_FLOAT,    14, 14},
    {0x20, 32, KIND_FLOAT,    15, 15},
};
enum { NFORMATS = sizeof(formats) / sizeof(formats[0]) };

static const struct {
    unsigned channels;
    enum sim_data_format data[3]; /* of 8, 16, 32 bits */
    uint8_t select[4];
    uint32_t order; /* HSA's number of R, RG, RGBA */
} counts[NCOUNTS] = {
    {1, {SIM_DATA_8, SIM_DATA_16, SIM_DATA_32},
     {SIM_SELECT_X, SIM_SELECT_0, SIM_SELECT_0, SIM_SELECT_1}, 1},
    {2, {SIM_DATA_8_8, SIM_DATA_16_16, SIM_DATA_32_32},
     {SIM_SELECT_X, SIM_SELECT_Y, SIM_SELECT_0, SIM_SELECT_1}, 3},
    {4, {SIM_DATA_8_8_8_8, SIM_DATA_16_16_16_16, SIM_DATA_32_32_32_32},
     {SIM_SELECT_X, SIM_SELECT_Y, SIM_SELECT_Z, SIM_SELECT_W}, 8},
};
/* clang-format on */
enum { ORDER_SRGBA = 14 };

static const struct format *format_of(int number)
{
    unsigned i;

    for (i = 0; i < NFORMATS; i++)
        if (formats[i].number == number)
            return &formats[i];
    return NULL;
}

/* NCOUNTS if there are no such elements. */
static unsigned count_of(unsigned channels)
{
    unsigned i = 0;

    while (i < NCOUNTS && counts[i].channels != channels)
        i++;
    return i;
}

bool texel_of_format(int format, unsigned channels, struct texel *out)
{
    *out = (struct texel){format, channels};
    return format_of(format) && count_of(channels) < NCOUNTS;
}

bool texel_of_desc(const hipChannelFormatDesc *d, struct texel *out)
{
    const int bits[] = {d->x, d->y, d->z, d->w};
    unsigned n = 0, i;

    while (n < 4 && bits[n])
        n++;
    for (i = 0; i < 4; i++)
        if (bits[i] != (i < n ? d->x : 0))
            return false;
    for (i = 0; i < NFORMATS; i++)
        if (formats[i].bits == d->x && formats[i].kind == d->f)
            return texel_of_format(formats[i].number, n, out);
    return false;
}

bool texel_of_view(int view, struct texel *out)
{
    if (view < 1 || view > NFORMATS * NCOUNTS)
        return false;
    return texel_of_format(formats[(view - 1) / NCOUNTS].number,
                           counts[(view - 1) % NCOUNTS].channels, out);
}

int texel_view(const struct texel *t)
{
    return (int)(format_of(t->format) - formats) * NCOUNTS +
           (int)count_of(t->channels) + 1;
}

unsigned texel_nbytes(const struct texel *t)
{
    return (unsigned)format_of(t->format)->bits / 8 * t->channels;
}

hipChannelFormatDesc texel_desc(const struct texel *t)
{
    const struct format *f = format_of(t->format);

    return (hipChannelFormatDesc){f->bits, t->channels > 1 ? f->bits : 0,
                                  t->channels > 2 ? f->bits : 0,
                                  t->channels > 3 ? f->bits : 0, f->kind};
}

hipChannelFormatDesc texel_desc_of(int format, unsigned channels)
{
    const hipChannelFormatDesc none = {0};
    struct texel texel;

    return texel_of_format(format, channels, &texel) ? texel_desc(&texel)
                                                     : none;
}

static enum sim_number_format number_of(const struct format *f, bool normalized)
{
    if (f->kind == KIND_FLOAT)
        return SIM_NUMBER_FLOAT;
    if (normalized && f->bits < 32)
        return f->kind == KIND_SIGNED ? SIM_NUMBER_SNORM : SIM_NUMBER_UNORM;
    return f->kind == KIND_SIGNED ? SIM_NUMBER_SINT : SIM_NUMBER_UINT;
}

bool texel_read(const struct texel *t, const struct reading *reading,
                struct sim_image *image, uint32_t object[IMAGE_OBJECT_WORDS])
{
    const struct format *f = format_of(t->format);
    const unsigned n = count_of(t->channels);
    const bool srgb = reading->srgb && n == FOUR;
    unsigned i;

    image->data = counts[n].data[f->bits / 16];
    image->number = number_of(f, reading->normalized);
    for (i = 0; i < 4; i++)
        image->select[i] = counts[n].select[i];
    object[CHANNEL_TYPE] = reading->normalized ? f->normalized : f->type;
    object[CHANNEL_ORDER] = srgb ? ORDER_SRGBA : counts[n].order;
    object[ELEMENTS] = image->width;
    if (srgb && (image->number != SIM_NUMBER_UNORM || f->bits != 8))
        return false;
    if (srgb)
        image->number = SIM_NUMBER_SRGB;
    return true;
}
