/* image_test.c - images in memory, and instructions on them, for tests */
#include "image_test.h"
#include "sim/base/host_access.h"
#include "sim/base/image_descriptor.h"

const enum sim_data_format datas[18] = {
    SIM_DATA_8,        SIM_DATA_16,          SIM_DATA_8_8,
    SIM_DATA_32,       SIM_DATA_16_16,       SIM_DATA_10_11_11,
    SIM_DATA_11_11_10, SIM_DATA_10_10_10_2,  SIM_DATA_2_10_10_10,
    SIM_DATA_8_8_8_8,  SIM_DATA_32_32,       SIM_DATA_16_16_16_16,
    SIM_DATA_32_32_32, SIM_DATA_32_32_32_32, SIM_DATA_5_6_5,
    SIM_DATA_1_5_5_5,  SIM_DATA_5_5_5_1,     SIM_DATA_4_4_4_4};

static const char *const dims[] = {[SIM_IMAGE_1D] = "1D",
                                   [SIM_IMAGE_2D] = "2D",
                                   [SIM_IMAGE_3D] = "3D",
                                   [SIM_IMAGE_CUBE] = "CUBE",
                                   [SIM_IMAGE_1D_ARRAY] = "1D_ARRAY",
                                   [SIM_IMAGE_2D_ARRAY] = "2D_ARRAY"};

static uint64_t last_random = 1;

void image_seed(unsigned seed)
{
    last_random = seed;
}

int image_random(void)
{
    last_random = last_random * UINT64_C(6364136223846793005) +
                  UINT64_C(1442695040888963407);
    return (int)(last_random >> 33);
}

struct test_image *image_new(const char *target, struct sim_image image)
{
    struct test_image *t = calloc(1, sizeof(*t));
    const struct sim_target *st = sim_target_by_name(target);
    char why[SIM_IMAGE_WHY];

    assert_non_null(t);
    *t = (struct test_image){.target = target, .image = image};
    if (image.depth == 0)
        t->image.depth = 1;
    if (image.nlevels == 0)
        t->image.nlevels = 1;
    for (unsigned c = 0; image.select[0] == 0 && c < 4; c++)
        t->image.select[c] = (uint8_t)(SIM_SELECT_X + c);
    if (!sim_image_layout(&t->image, st, &t->layout, why))
        fail_msg("%s: %s", target, why);
    t->memory = sim_mem_alloc(0, t->layout.nbytes, 256, SIM_MEM_DEVICE);
    assert_non_null(t->memory);
    t->image.base = t->memory->base;
    image_fill(t);
    return t;
}

void image_free(struct test_image *t)
{
    sim_mem_free(t->memory->base);
    free(t);
}

bool image_is_integer(const struct test_image *t)
{
    return t->image.number == SIM_NUMBER_UINT ||
           t->image.number == SIM_NUMBER_SINT;
}

void image_fill(struct test_image *t)
{
    const struct sim_texel_format *f =
        sim_format_of(t->image.data, t->image.number);

    for (uint64_t i = 0; i < t->memory->size; i++)
        t->memory->bytes[i] = (uint8_t)(image_random() >> 5);
    for (uint64_t i = 0;
         t->image.number == SIM_NUMBER_FLOAT && i + 4 <= t->memory->size;
         i += 4) {
        float v = (float)between(-8, 8);
        __extension__ _Float16 h[2] = {(_Float16)v, (_Float16)(v / 2)};

        if (f->nbits[0] == 32)
            memcpy(t->memory->bytes + i, &v, 4);
        else if (f->nbits[0] == 16)
            memcpy(t->memory->bytes + i, h, 4);
    }
    sim_mem_mark_written(t->memory->base, t->memory->size);
}

uint8_t *image_texel(const struct test_image *t, unsigned level, int64_t x,
                     int64_t y, int64_t z)
{
    const struct sim_image_level *l = &t->layout.level[level];
    const int64_t depth =
        t->image.type == SIM_IMAGE_3D ? l->depth : t->image.depth;

    if (x < 0 || y < 0 || z < 0 || x >= l->width || y >= l->height ||
        z >= depth)
        return NULL;
    return t->memory->bytes + (uint64_t)z * t->layout.slice_nbytes + l->offset +
           ((uint64_t)y * l->pitch + (uint64_t)x) * t->layout.texel_nbytes;
}

/* ---- values, bit by bit ---- */

static double number_of(uint64_t bits, unsigned nbits,
                        enum sim_number_format number, bool alpha)
{
    const double most = ldexp(1, (int)nbits) - 1;
    const double half = ldexp(1, (int)nbits - 1);
    const double with_sign =
        (double)bits - ((double)bits >= half ? 2 * half : 0);
    double v;

    switch (number) {
    case SIM_NUMBER_UINT:
    case SIM_NUMBER_USCALED:
        return (double)bits;
    case SIM_NUMBER_SINT:
    case SIM_NUMBER_SSCALED:
        return with_sign;
    case SIM_NUMBER_SNORM:
        return fmax(with_sign / (half - 1), -1);
    case SIM_NUMBER_FLOAT:
        if (nbits == 32)
            return as_float((uint32_t)bits);
        v = nbits == 16 && bits >= 0x8000 ? -1 : 1;
        bits &= nbits == 16 ? 0x7fff : UINT64_MAX;
        {
            const unsigned fraction = nbits == 16 ? 10 : (nbits - 5) & 15;
            const int exponent = (int)(bits >> fraction);
            const double m =
                ldexp((double)(bits & ((1u << fraction) - 1)), -(int)fraction);

            if (exponent == 31)
                return m != 0 ? NAN : v * INFINITY;
            return v * (exponent ? ldexp(1 + m, exponent - 15) : ldexp(m, -14));
        }
    default:
        v = (double)bits / most;
        if (number == SIM_NUMBER_SRGB && !alpha)
            v = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
        return v;
    }
}

void image_value(const struct test_image *t, const uint8_t *texel,
                 double value[4])
{
    const struct sim_texel_format *f =
        sim_format_of(t->image.data, t->image.number);
    unsigned bit = 0;

    for (unsigned c = 0; c < 4; c++) {
        uint64_t bits = 0;

        value[c] = c == 3;
        if (c >= f->nchannels)
            continue;
        for (unsigned i = 0; i < f->nbits[c]; i++, bit++)
            bits |= (uint64_t)(texel[bit / 8] >> bit % 8 & 1) << i;
        value[c] = number_of(bits, f->nbits[c], t->image.number, c == 3);
    }
}

/* ---- instructions ---- */

struct asm_state *image_state(const struct test_image *t,
                              const struct sim_sampler *sampler)
{
    const struct sim_target *target = sim_target_by_name(t->target);
    struct asm_state *st = asm_new(t->target, target->major == 9 ? 64 : 32);
    char why[SIM_IMAGE_WHY];

    if (!sim_image_encode(&t->image, target, &st->s[IMAGE_SGPR], why))
        fail_msg("%s: the image descriptor %s", t->target, why);
    if (sampler &&
        !sim_sampler_encode(sampler, target, &st->s[SAMPLER_SGPR], why))
        fail_msg("%s: the sampler descriptor %s", t->target, why);
    return st;
}

unsigned image_ncoords(enum sim_image_type type)
{
    return type == SIM_IMAGE_1D                                 ? 1
           : type == SIM_IMAGE_2D || type == SIM_IMAGE_1D_ARRAY ? 2
                                                                : 3;
}

/* Coordinates as v[0:2]; gfx12 lists single registers and puts the rest of more
 * than four into a range. */
static void put_coords(char *text, size_t n, unsigned ncoords, bool listed)
{
    const unsigned single = ncoords > 4 ? 3 : ncoords;
    size_t at = 0;

    if (ncoords == 1) {
        snprintf(text, n, "v%u", (unsigned)COORD_VGPR);
    } else if (!listed) {
        snprintf(text, n, "v[%u:%u]", (unsigned)COORD_VGPR,
                 COORD_VGPR + ncoords - 1);
    } else {
        for (unsigned k = 0; k < single; k++)
            at += (size_t)snprintf(text + at, n - at, "%sv%u", k ? ", " : "[",
                                   COORD_VGPR + k);
        if (ncoords > single)
            at +=
                (size_t)snprintf(text + at, n - at, ", v[%u:%u]",
                                 COORD_VGPR + single, COORD_VGPR + ncoords - 1);
        snprintf(text + at, n - at, "]");
    }
}

const char *image_text(const struct test_image *t, const char *name,
                       unsigned ndata, unsigned ncoords, unsigned dmask,
                       const char *more)
{
    static char text[512];
    const unsigned major = sim_target_by_name(t->target)->major;
    const bool samples =
        strstr(name, "sample") || strstr(name, "gather") || strstr(name, "lod");
    const bool layered = sim_image_is_array(t->image.type);
    char data[16], coords[80], shape[64] = "";

    snprintf(data, sizeof(data), ndata == 1 ? "v%u" : "v[%u:%u]",
             (unsigned)DATA_VGPR, DATA_VGPR + ndata - 1);
    put_coords(coords, sizeof(coords), ncoords, major >= 12);
    if (major > 9)
        snprintf(shape, sizeof(shape), " dim:SQ_RSRC_IMG_%s",
                 dims[t->image.type]);
    snprintf(text, sizeof(text), "%s %s, %s, s[%u:%u]%s dmask:0x%x%s%s%s%s",
             name, data, coords, (unsigned)IMAGE_SGPR, IMAGE_SGPR + 7u,
             samples ? ", s[16:19]" : "", dmask, shape,
             !samples && major < 12 ? " unorm" : "", more,
             major == 9 && layered ? " da" : "");
    return text;
}
