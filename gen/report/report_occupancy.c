/* report_occupancy.c - how many waves of a kernel a SIMD holds
 *
 * Registers and waves: LLVM's AMDGPUBaseInfo (allocation granules, totals and
 * waves of an EU by feature). LDS: the ISA manuals, and gfx950's 160 KiB. From
 * gfx10 on a block has the SIMDs and the LDS of a pair of compute units.
 */
#include "report/report_occupancy.h"

#include <string.h>

struct machine {
    const char *prefix; /* start of the processor's name; first match counts */
    unsigned file;      /* registers of a lane, in waves of `wave` lanes */
    unsigned granule;   /* registers allocated at a time */
    unsigned wave;
    unsigned most_waves; /* of a SIMD */
    unsigned nsimds;     /* SIMDs for one block */
    unsigned lds_nbytes; /* LDS shared by the SIMDs' blocks */
    int separate_agprs;  /* a second file of the same size */
};

/* clang-format off */
static const struct machine machines[] = {
    /*             file  gran. wave most simds LDS      AGPRs apart */
    {"gfx90a",      512,   8,  64,   8,  4,  64 * 1024, 0},
    {"gfx94",       512,   8,  64,   8,  4,  64 * 1024, 0},
    {"gfx950",      512,   8,  64,   8,  4, 160 * 1024, 0},
    {"gfx9-4",      512,   8,  64,   8,  4,  64 * 1024, 0},
    {"gfx908",      256,   4,  64,  10,  4,  64 * 1024, 1},
    {"gfx9",        256,   4,  64,  10,  4,  64 * 1024, 0},
    {"gfx101",     1024,   8,  32,  20,  4, 128 * 1024, 0},
    {"gfx10-1",    1024,   8,  32,  20,  4, 128 * 1024, 0},
    {"gfx10",      1024,  16,  32,  16,  4, 128 * 1024, 0},
    {"gfx1100",    1536,  24,  32,  16,  4, 128 * 1024, 0},
    {"gfx1101",    1536,  24,  32,  16,  4, 128 * 1024, 0},
    {"gfx1151",    1536,  24,  32,  16,  4, 128 * 1024, 0},
    {"gfx11",      1024,  16,  32,  16,  4, 128 * 1024, 0},
    {"gfx120",     1536,  24,  32,  16,  4, 128 * 1024, 0},
    {"gfx12-",     1536,  24,  32,  16,  4, 128 * 1024, 0},
    {"gfx125",     1024,  16,  32,  16,  4, 320 * 1024, 0},
    {"",           1024,  16,  32,  16,  4,  64 * 1024, 0},
};
/* clang-format on */

static unsigned at_most(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

struct occupancy occupancy_of(const char *target,
                              const struct kpk_kernel_attrs *attrs)
{
    const struct machine *m = machines;
    struct occupancy out = {0, 0, 256};
    unsigned used = attrs->vgprs ? attrs->vgprs : 1;
    unsigned waves_of_block;
    unsigned granule;
    unsigned blocks;
    unsigned file;

    while (strncmp(target, m->prefix, strlen(m->prefix)) != 0)
        m++;
    out.most = m->most_waves;
    if (attrs->reqd_block[0])
        out.block =
            attrs->reqd_block[0] * attrs->reqd_block[1] * attrs->reqd_block[2];
    else
        out.block = at_most(out.block, attrs->max_block);
    if (!attrs->wave_size || !out.block)
        return out;
    if (m->separate_agprs && attrs->agprs > used)
        used = attrs->agprs;
    /* A wave of 64 lanes takes each register of a file for 32 twice. */
    file = attrs->wave_size > m->wave ? m->file / 2 : m->file;
    granule = attrs->wave_size > m->wave ? m->granule / 2 : m->granule;
    used = (used + granule - 1) / granule * granule;
    waves_of_block = (out.block + attrs->wave_size - 1) / attrs->wave_size;
    blocks = at_most(file / used, m->most_waves) * m->nsimds / waves_of_block;
    if (attrs->lds_nbytes)
        blocks = at_most(blocks, m->lds_nbytes / attrs->lds_nbytes);
    out.waves = at_most((blocks * waves_of_block + m->nsimds - 1) / m->nsimds,
                        m->most_waves);
    return out;
}
