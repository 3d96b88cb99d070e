/* image_descriptor.c - descriptors of images and samplers, written and read
 *
 * Places of the fields: AMD's ROCr (resource_ai.h, resource_nv.h,
 * resource_gfx11.h, resource_gfx12.h) and the ISA manuals' chapters on image
 * resources. Both ways go by one table, so they cannot differ.
 */
#include "image_descriptor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum generation { GFX9, GFX10, GFX11, GFX12, NGENERATIONS };

static enum generation generation_of(const struct sim_target *t)
{
    return t->major <= 9    ? GFX9
           : t->major == 10 ? GFX10
           : t->major == 11 ? GFX11
                            : GFX12;
}

/* ---- fields ---- */

/* First bit, counted from the first dword's lowest, and width; 0: none. */
struct place {
    uint8_t bit, width;
};

enum image_field {
    I_BASE,
    I_MIN_LOD,
    I_DATA, /* gfx9: data format; later: both formats in one */
    I_NUMBER,
    I_WIDTH,
    I_HEIGHT,
    I_SELECT_X,
    I_SELECT_Y,
    I_SELECT_Z,
    I_SELECT_W,
    I_FIRST_LEVEL,
    I_LAST_LEVEL,
    I_SWIZZLE_MODE,
    I_TYPE,
    I_DEPTH,
    I_PITCH,
    I_FIRST_LAYER,
    I_MAX_MIP,
    I_COMPRESSED,
    NUM_IMAGE_FIELDS
};

/* clang-format off */
static const struct place image_places[NUM_IMAGE_FIELDS][NGENERATIONS] = {
    /*                    gfx9       gfx10      gfx11      gfx12 */
    [I_BASE]         = {{0, 40},   {0, 40},   {0, 40},   {0, 40}},
    [I_MIN_LOD]      = {{40, 12},  {40, 12},  {187, 12}, {186, 13}},
    [I_DATA]         = {{52, 6},   {52, 9},   {52, 8},   {49, 8}},
    [I_NUMBER]       = {{58, 4},   {0, 0},    {0, 0},    {0, 0}},
    [I_WIDTH]        = {{64, 14},  {62, 14},  {62, 14},  {62, 16}},
    [I_HEIGHT]       = {{78, 14},  {78, 14},  {78, 14},  {78, 16}},
    [I_SELECT_X]     = {{96, 3},   {96, 3},   {96, 3},   {96, 3}},
    [I_SELECT_Y]     = {{99, 3},   {99, 3},   {99, 3},   {99, 3}},
    [I_SELECT_Z]     = {{102, 3},  {102, 3},  {102, 3},  {102, 3}},
    [I_SELECT_W]     = {{105, 3},  {105, 3},  {105, 3},  {105, 3}},
    [I_FIRST_LEVEL]  = {{108, 4},  {108, 4},  {108, 4},  {57, 5}},
    [I_LAST_LEVEL]   = {{112, 4},  {112, 4},  {112, 4},  {111, 5}},
    [I_SWIZZLE_MODE] = {{116, 5},  {116, 5},  {116, 5},  {116, 5}},
    [I_TYPE]         = {{124, 4},  {124, 4},  {124, 4},  {124, 4}},
    [I_DEPTH]        = {{128, 13}, {128, 13}, {128, 13}, {128, 14}},
    [I_PITCH]        = {{141, 16}, {128, 14}, {128, 14}, {128, 16}},
    [I_FIRST_LAYER]  = {{160, 13}, {144, 13}, {144, 13}, {144, 14}},
    [I_MAX_MIP]      = {{188, 4},  {164, 4},  {48, 4},   {44, 5}},
    [I_COMPRESSED]   = {{213, 1},  {213, 1},  {213, 1},  {213, 1}},
};

enum sampler_field {
    S_CLAMP_X, S_CLAMP_Y, S_CLAMP_Z, S_ANISO, S_COMPARE, S_UNNORMALISED,
    S_FORCE_SRGB, S_TRUNCATES, S_NO_CUBE_WRAP, S_REDUCTION, S_KEEP_SRGB,
    S_MIN_LOD, S_MAX_LOD, S_LOD_BIAS, S_MAG, S_MIN, S_Z, S_MIP, S_BORDER,
    NUM_SAMPLER_FIELDS
};

static const struct place sampler_places[NUM_SAMPLER_FIELDS][NGENERATIONS] = {
    /*                    gfx9       gfx10      gfx11      gfx12 */
    [S_CLAMP_X]      = {{0, 3},    {0, 3},    {0, 3},    {0, 3}},
    [S_CLAMP_Y]      = {{3, 3},    {3, 3},    {3, 3},    {3, 3}},
    [S_CLAMP_Z]      = {{6, 3},    {6, 3},    {6, 3},    {6, 3}},
    [S_ANISO]        = {{9, 3},    {9, 3},    {9, 3},    {9, 3}},
    [S_COMPARE]      = {{12, 3},   {12, 3},   {12, 3},   {12, 3}},
    [S_UNNORMALISED] = {{15, 1},   {15, 1},   {15, 1},   {15, 1}},
    [S_FORCE_SRGB]   = {{20, 1},   {20, 1},   {20, 1},   {20, 1}},
    [S_TRUNCATES]    = {{27, 1},   {27, 1},   {27, 1},   {27, 1}},
    [S_NO_CUBE_WRAP] = {{28, 1},   {28, 1},   {28, 1},   {28, 1}},
    [S_REDUCTION]    = {{29, 2},   {29, 2},   {29, 2},   {29, 2}},
    [S_KEEP_SRGB]    = {{108, 1},  {31, 1},   {31, 1},   {31, 1}},
    [S_MIN_LOD]      = {{32, 12},  {32, 12},  {32, 12},  {32, 13}},
    [S_MAX_LOD]      = {{44, 12},  {44, 12},  {44, 12},  {45, 13}},
    [S_LOD_BIAS]     = {{64, 14},  {64, 14},  {64, 14},  {64, 14}},
    [S_MAG]          = {{84, 2},   {84, 2},   {84, 2},   {84, 2}},
    [S_MIN]          = {{86, 2},   {86, 2},   {86, 2},   {86, 2}},
    [S_Z]            = {{88, 2},   {88, 2},   {88, 2},   {88, 2}},
    [S_MIP]          = {{90, 2},   {90, 2},   {90, 2},   {90, 2}},
    [S_BORDER]       = {{126, 2},  {126, 2},  {126, 2},  {126, 2}},
};
/* clang-format on */

static uint64_t get(const uint32_t *words, struct place p)
{
    const unsigned word = p.bit / 32, shift = p.bit % 32;
    uint64_t v = words[word];

    if (shift + p.width > 32) /* then there is a next word */
        v |= (uint64_t)words[word + 1] << 32;
    return v >> shift & ((UINT64_C(1) << p.width) - 1);
}

static void put(uint32_t *words, struct place p, uint64_t v)
{
    for (unsigned i = 0; i < p.width; i++)
        words[(p.bit + i) / 32] |= (uint32_t)(v >> i & 1) << (p.bit + i) % 32;
}

static bool fits(struct place p, uint64_t v)
{
    return v >> p.width == 0;
}

/* ---- images ---- */

/* The pitch and the depth share a field from gfx10 on: one has it. */
static bool has_pitch(const struct sim_image *i, const struct sim_target *t)
{
    if (i->nlevels > 1)
        return false;
    if (t->major <= 9)
        return true;
    return (i->type == SIM_IMAGE_1D || i->type == SIM_IMAGE_2D) &&
           (t->major > 10 || t->minor >= 3);
}

static bool has_depth(enum sim_image_type type)
{
    return type == SIM_IMAGE_3D || sim_image_is_array(type);
}

static bool refuse(char why[SIM_IMAGE_WHY], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(char why[SIM_IMAGE_WHY], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, SIM_IMAGE_WHY, format, args);
    va_end(args);
    return false;
}

/* Checks rules for every image; elsewhere sizes are checked against the widths
 * of the descriptor's fields. */
static bool check_image(const struct sim_image *i, const struct sim_target *t,
                        char why[SIM_IMAGE_WHY])
{
    uint32_t most = i->width > i->height ? i->width : i->height;

    if (i->type == SIM_IMAGE_3D && i->depth > most)
        most = i->depth;
    if (i->type < SIM_IMAGE_1D || i->type > SIM_IMAGE_2D_MSAA_ARRAY)
        return refuse(why, "has type %u, which is no image", (unsigned)i->type);
    if (i->type >= SIM_IMAGE_2D_MSAA)
        return refuse(why, "is of an image with samples, which the simulator "
                           "does not have");
    if (!sim_format_of(i->data, i->number))
        return refuse(why,
                      "has data format %u and number format %u, which the "
                      "simulator does not have in images",
                      (unsigned)i->data, (unsigned)i->number);
    if (i->base % SIM_IMAGE_ALIGN)
        return refuse(why, "has base 0x%llx, which is no multiple of %u",
                      (unsigned long long)i->base, (unsigned)SIM_IMAGE_ALIGN);
    if (!i->width || !i->height || !i->depth || !i->nlevels)
        return refuse(why, "is of an image of %ux%ux%u texels and %u levels",
                      i->width, i->height, i->depth, i->nlevels);
    if (sim_image_is_1d(i->type) && i->height != 1)
        return refuse(why, "is of a 1D image of height %u", i->height);
    if (i->type == SIM_IMAGE_CUBE && i->width != i->height)
        return refuse(why, "is of a cube with faces of %ux%u texels", i->width,
                      i->height);
    if (!has_depth(i->type) && i->depth != 1)
        return refuse(why, "gives an image without depth or layers %u of them",
                      i->depth);
    if (i->first_layer >= i->depth)
        return refuse(why, "begins with layer %u of %u", i->first_layer,
                      i->depth);
    if (i->nlevels > SIM_IMAGE_MAX_LEVELS || most >> (i->nlevels - 1) == 0)
        return refuse(why, "has %u levels for %u texels", i->nlevels, most);
    if (i->first_level > i->last_level || i->last_level >= i->nlevels)
        return refuse(why, "shows levels %u to %u of %u", i->first_level,
                      i->last_level, i->nlevels);
    if (i->pitch && !has_pitch(i, t))
        return refuse(why, "of such an image on %s has no place for a pitch",
                      t->name);
    for (unsigned c = 0; c < 4; c++)
        if (i->select[c] > SIM_SELECT_W || i->select[c] == 2 ||
            i->select[c] == 3)
            return refuse(why, "selects channel %u, which is none",
                          i->select[c]);
    return true;
}

bool sim_image_encode(const struct sim_image *i, const struct sim_target *t,
                      uint32_t words[SIM_IMAGE_WORDS], char why[SIM_IMAGE_WHY])
{
    const enum generation g = generation_of(t);
    struct sim_image_layout layout;
    uint64_t value[NUM_IMAGE_FIELDS] = {0};

    if (!check_image(i, t, why) || !sim_image_layout(i, t, &layout, why))
        return false;
    value[I_BASE] = i->base / SIM_IMAGE_ALIGN;
    value[I_MIN_LOD] = i->min_lod;
    value[I_DATA] = g == GFX9 ? (uint32_t)i->data
                              : sim_format_encode(i->data, i->number, t);
    if (!value[I_DATA])
        return refuse(why,
                      "of %s has no code for data format %u with number "
                      "format %u",
                      t->name, (unsigned)i->data, (unsigned)i->number);
    value[I_NUMBER] = g == GFX9 ? (uint32_t)i->number : 0;
    value[I_WIDTH] = i->width - 1;
    value[I_HEIGHT] = i->height - 1;
    for (unsigned c = 0; c < 4; c++)
        value[I_SELECT_X + c] = i->select[c];
    value[I_FIRST_LEVEL] = i->first_level;
    value[I_LAST_LEVEL] = i->last_level;
    value[I_TYPE] = i->type;
    value[I_DEPTH] = i->depth - 1;
    value[I_PITCH] = has_pitch(i, t) ? layout.level[0].pitch - 1 : 0;
    value[I_FIRST_LAYER] = i->first_layer;
    value[I_MAX_MIP] = i->nlevels - 1;
    /* With several levels gfx9 takes the height of all levels in this field. */
    if (g == GFX9 && i->nlevels > 1)
        value[I_PITCH] =
            layout.slice_nbytes / layout.texel_nbytes / layout.level[0].pitch -
            1;
    memset(words, 0, SIM_IMAGE_WORDS * sizeof(*words));
    for (unsigned f = 0; f < NUM_IMAGE_FIELDS; f++) {
        if (!fits(image_places[f][g], value[f]))
            return refuse(why,
                          "of %s has no room for %ux%ux%u texels with "
                          "pitch %u at 0x%llx",
                          t->name, i->width, i->height, i->depth,
                          layout.level[0].pitch, (unsigned long long)i->base);
        put(words, image_places[f][g], value[f]);
    }
    return true;
}

bool sim_image_decode(const uint32_t words[SIM_IMAGE_WORDS],
                      const struct sim_target *t, struct sim_image *i,
                      char why[SIM_IMAGE_WHY])
{
    const enum generation g = generation_of(t);
    struct sim_image_layout layout;
    uint64_t value[NUM_IMAGE_FIELDS];

    for (unsigned f = 0; f < NUM_IMAGE_FIELDS; f++)
        value[f] = get(words, image_places[f][g]);
    *i = (struct sim_image){.base = value[I_BASE] * SIM_IMAGE_ALIGN,
                            .type = (enum sim_image_type)value[I_TYPE],
                            .data = (enum sim_data_format)value[I_DATA],
                            .number = (enum sim_number_format)value[I_NUMBER],
                            .width = (uint32_t)value[I_WIDTH] + 1,
                            .height = (uint32_t)value[I_HEIGHT] + 1,
                            .depth = 1,
                            .nlevels = (uint32_t)value[I_MAX_MIP] + 1,
                            .first_level = (uint32_t)value[I_FIRST_LEVEL],
                            .last_level = (uint32_t)value[I_LAST_LEVEL],
                            .min_lod = (uint32_t)value[I_MIN_LOD]};

    if (g != GFX9 &&
        !sim_format_decode((uint32_t)value[I_DATA], t, &i->data, &i->number))
        return refuse(why, "has format %u, which the simulator does not have",
                      (unsigned)value[I_DATA]);
    for (unsigned c = 0; c < 4; c++)
        i->select[c] = (uint8_t)value[I_SELECT_X + c];
    if (sim_image_is_1d(i->type)) /* not looked at */
        i->height = 1;
    if (has_depth(i->type)) {
        i->depth = (uint32_t)value[I_DEPTH] + 1;
        i->first_layer = (uint32_t)value[I_FIRST_LAYER];
    }
    if (has_pitch(i, t))
        i->pitch = (uint32_t)value[I_PITCH] + 1;
    if (value[I_SWIZZLE_MODE])
        return refuse(why,
                      "has swizzle mode %u: the simulator has linear "
                      "images alone",
                      (unsigned)value[I_SWIZZLE_MODE]);
    if (value[I_COMPRESSED])
        return refuse(why, "is of a compressed image, which the simulator does "
                           "not have");
    return check_image(i, t, why) && sim_image_layout(i, t, &layout, why);
}

/* ---- samplers ---- */

static bool check_sampler(const struct sim_sampler *s, char why[SIM_IMAGE_WHY])
{
    for (unsigned k = 0; k < 3; k++)
        if (s->clamp[k] == SIM_CLAMP_HALF_BORDER ||
            s->clamp[k] == SIM_CLAMP_MIRROR_ONCE_HALF_BORDER ||
            s->clamp[k] > SIM_CLAMP_MIRROR_ONCE_BORDER)
            return refuse(why,
                          "has address mode %u, which the simulator does "
                          "not have",
                          (unsigned)s->clamp[k]);
    if (s->border >= SIM_BORDER_PALETTE)
        return refuse(why, "takes its border color from a palette, which the "
                           "simulator does not have");
    if (s->z_filter > 2 || s->mip_filter > 2 || s->reduction > 2)
        return refuse(why,
                      "has a filter (z %u, levels %u, reduction %u) that "
                      "the simulator does not have",
                      s->z_filter, s->mip_filter, s->reduction);
    return true;
}

bool sim_sampler_encode(const struct sim_sampler *s, const struct sim_target *t,
                        uint32_t words[SIM_SAMPLER_WORDS],
                        char why[SIM_IMAGE_WHY])
{
    const enum generation g = generation_of(t);
    const uint64_t value[NUM_SAMPLER_FIELDS] = {
        [S_CLAMP_X] = s->clamp[0],
        [S_CLAMP_Y] = s->clamp[1],
        [S_CLAMP_Z] = s->clamp[2],
        [S_ANISO] = s->aniso,
        [S_COMPARE] = s->compare,
        [S_UNNORMALISED] = s->unnormalised,
        [S_FORCE_SRGB] = s->forces_srgb,
        [S_TRUNCATES] = s->truncates,
        [S_NO_CUBE_WRAP] = s->no_cube_wrap,
        [S_REDUCTION] = s->reduction,
        [S_KEEP_SRGB] = s->keeps_srgb,
        [S_MIN_LOD] = s->min_lod,
        [S_MAX_LOD] = s->max_lod,
        [S_LOD_BIAS] = (uint32_t)s->lod_bias & 0x3fff,
        [S_MAG] = s->linear_mag,
        [S_MIN] = s->linear_min,
        [S_Z] = s->z_filter,
        [S_MIP] = s->mip_filter,
        [S_BORDER] = s->border,
    };

    if (!check_sampler(s, why))
        return false;
    if (s->lod_bias < -0x2000 || s->lod_bias > 0x1fff)
        return refuse(why, "has no room for a bias of %d levels / 256",
                      s->lod_bias);
    memset(words, 0, SIM_SAMPLER_WORDS * sizeof(*words));
    for (unsigned f = 0; f < NUM_SAMPLER_FIELDS; f++) {
        if (!fits(sampler_places[f][g], value[f]))
            return refuse(why,
                          "of %s has no room for levels %u/256 to %u/256, "
                          "comparison %u or anisotropy %u",
                          t->name, s->min_lod, s->max_lod, s->compare,
                          s->aniso);
        put(words, sampler_places[f][g], value[f]);
    }
    return true;
}

bool sim_sampler_decode(const uint32_t words[SIM_SAMPLER_WORDS],
                        const struct sim_target *t, struct sim_sampler *s,
                        char why[SIM_IMAGE_WHY])
{
    const enum generation g = generation_of(t);
    uint64_t value[NUM_SAMPLER_FIELDS];

    for (unsigned f = 0; f < NUM_SAMPLER_FIELDS; f++)
        value[f] = get(words, sampler_places[f][g]);
    *s = (struct sim_sampler){
        .linear_mag = value[S_MAG] & 1, /* 2 and 3: the same, anisotropic */
        .linear_min = value[S_MIN] & 1,
        .z_filter = (uint8_t)value[S_Z],
        .mip_filter = (uint8_t)value[S_MIP],
        .unnormalised = value[S_UNNORMALISED],
        .compare = (uint8_t)value[S_COMPARE],
        .reduction = (uint8_t)value[S_REDUCTION],
        .truncates = value[S_TRUNCATES],
        .no_cube_wrap = value[S_NO_CUBE_WRAP],
        .keeps_srgb = value[S_KEEP_SRGB],
        .forces_srgb = value[S_FORCE_SRGB],
        .aniso = (uint8_t)value[S_ANISO],
        .min_lod = (uint32_t)value[S_MIN_LOD],
        .max_lod = (uint32_t)value[S_MAX_LOD],
        .lod_bias = (int32_t)(uint32_t)value[S_LOD_BIAS],
        .border = (enum sim_border)value[S_BORDER],
    };
    if (s->lod_bias > 0x1fff)
        s->lod_bias -= 0x4000;
    for (unsigned k = 0; k < 3; k++)
        s->clamp[k] = (enum sim_clamp)value[S_CLAMP_X + k];
    return check_sampler(s, why);
}
