/* image_layout.c - places of texels in a linear image
 *
 * After AMD's address library, as ROCr has it: Gfx9Lib's and Gfx10Lib's
 * HwlComputeSurfaceInfoLinear() and Gfx12Lib's GetMipOffset().
 */
#include "image_layout.h"

#include <stdio.h>
#include <string.h>

enum { ROW_NBYTES = 256, GFX12_ROW_NBYTES = 128 };

/* Rounds a row up to row_nbytes; with texels of 12 bytes, which do not divide
 * row_nbytes, up to a multiple of row_nbytes texels. */
static uint32_t align_row(uint32_t ntexels, uint32_t row_nbytes,
                          uint32_t texel_nbytes)
{
    uint32_t step =
        row_nbytes % texel_nbytes != 0 ? row_nbytes : row_nbytes / texel_nbytes;

    return (ntexels + step - 1) / step * step;
}

static uint32_t level_size(uint32_t size, unsigned level)
{
    size >>= level;
    return size ? size : 1;
}

/* gfx12 pads the rows of a lone slice less. */
static uint32_t row_nbytes_of(const struct sim_image *i,
                              const struct sim_target *t, unsigned level)
{
    bool trims = t->major >= 12 && level == 0 && i->depth == 1 &&
                 i->type != SIM_IMAGE_3D;

    return trims ? GFX12_ROW_NBYTES : ROW_NBYTES;
}

static bool check_pitch(const struct sim_image *i, const struct sim_target *t,
                        uint32_t texel_nbytes, char why[SIM_IMAGE_WHY])
{
    uint32_t row = t->major >= 12 ? GFX12_ROW_NBYTES : ROW_NBYTES;
    uint64_t nbytes = (uint64_t)i->pitch * texel_nbytes;

    if (i->pitch >= i->width && nbytes % row == 0)
        return true;
    snprintf(why, SIM_IMAGE_WHY,
             "has a pitch of %u texels (%llu bytes) for rows of %u: it must be "
             "at least that, and a multiple of %u bytes",
             i->pitch, (unsigned long long)nbytes, i->width, row);
    return false;
}

/* Levels have the same pitch and follow each other, the largest first. */
static void lay_out_gfx9(const struct sim_image *i, uint32_t pitch,
                         struct sim_image_layout *l)
{
    uint64_t rows = 0;
    uint32_t height = i->height;

    for (unsigned k = 0; k < i->nlevels; k++) {
        l->level[k].pitch = pitch;
        l->level[k].offset = rows * pitch * l->texel_nbytes;
        rows += height;
        height = (height + 1) / 2;
    }
    l->slice_nbytes = rows * pitch * l->texel_nbytes;
}

/* From the smallest level on. */
static void lay_out_gfx10(const struct sim_image *i, const struct sim_target *t,
                          struct sim_image_layout *l)
{
    uint64_t at = 0;

    for (unsigned k = i->nlevels; k-- > 0;) {
        struct sim_image_level *level = &l->level[k];

        /* Level 0 of a gfx12 image has been given its pitch. */
        if (k || !level->pitch)
            level->pitch = align_row(level->width, row_nbytes_of(i, t, k),
                                     l->texel_nbytes);
        level->offset = at;
        at += (uint64_t)level->pitch * level->height * l->texel_nbytes;
    }
    l->slice_nbytes = at;
}

bool sim_image_layout(const struct sim_image *i, const struct sim_target *t,
                      struct sim_image_layout *l, char why[SIM_IMAGE_WHY])
{
    const struct sim_texel_format *format = sim_format_of(i->data, i->number);
    const bool is_3d = i->type == SIM_IMAGE_3D;
    uint32_t pitch = i->pitch;

    memset(l, 0, sizeof(*l));
    if (!format || !i->nlevels || i->nlevels > SIM_IMAGE_MAX_LEVELS) {
        snprintf(why, SIM_IMAGE_WHY,
                 "has a format or levels (%u) that no linear image has",
                 i->nlevels);
        return false;
    }
    l->texel_nbytes = format->nbytes;
    if (pitch && !check_pitch(i, t, l->texel_nbytes, why))
        return false;
    if (!pitch && t->major <= 9)
        pitch = align_row(i->width, ROW_NBYTES, l->texel_nbytes);
    for (unsigned k = 0; k < i->nlevels; k++)
        l->level[k] = (struct sim_image_level){
            .width = level_size(i->width, k),
            .height = level_size(i->height, k),
            .depth = is_3d ? level_size(i->depth, k) : 1,
            .pitch = k ? 0 : pitch};
    if (t->major <= 9)
        lay_out_gfx9(i, pitch, l);
    else
        lay_out_gfx10(i, t, l);
    l->nbytes = l->slice_nbytes * i->depth;
    return true;
}
